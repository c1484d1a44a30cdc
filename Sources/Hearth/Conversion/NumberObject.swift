internal import Foundation

/// The kind of a number or Boolean in untyped data.
///
/// A cast alone cannot tell `true` from 1 once a value is a Foundation object, so the kind of objects decides, and the Swift type of
/// everything else.
enum NumberObject {
  case boolean(Bool)
  case integer(Int64)
  /// Larger than every `Int64`, or an integer of a type of its own.
  case largeInteger(any BinaryInteger)
  case double(Double)

  /// Nil for values that are not numbers.
  init?(_ value: Any) {
    if type(of: value) is AnyClass {
      guard let number = value as? NSNumber else { return nil }
      self.init(number)
      return
    }
    switch value {
    case let boolean as Bool: self = .boolean(boolean)
    case let integer as any BinaryInteger:
      if let exact = Int64(exactly: integer) { self = .integer(exact) } else { self = .largeInteger(integer) }
    case let double as any BinaryFloatingPoint: self = .double(Double(double))
    // An `NSDecimalNumber` to Foundation, and so a double to the official SDK.
    case let decimal as Decimal: self = .double(NSDecimalNumber(decimal: decimal).doubleValue)
    default: return nil
    }
  }

  private init(_ number: NSNumber) {
    if number.isBoolean {
      self = .boolean(number.boolValue)
      return
    }
    switch number.objCType[0] {
    case 0x64, 0x66:  // "d", "f"
      self = .double(number.doubleValue)
    case 0x51:  // "Q"
      let integer = number.uint64Value
      if let exact = Int64(exactly: integer) { self = .integer(exact) } else { self = .largeInteger(integer) }
    default:
      self = .integer(number.int64Value)
    }
  }
}

extension NSNumber {
  /// True if the object was made from a Boolean. Both Foundations have one object each for true and false, of a class of their own;
  /// the C type alone does not tell, because most objects made from an `Int8` report `char` as well.
  var isBoolean: Bool {
    #if canImport(Darwin)
      return CFGetTypeID(self) == CFBooleanGetTypeID()
    #else
      return ObjectIdentifier(type(of: self)) == NSNumber.classOfBooleans && objCType[0] == 0x63  // "c"
    #endif
  }

  #if !canImport(Darwin)
    private static let classOfBooleans = ObjectIdentifier(type(of: NSNumber(value: true)))
  #endif
}
