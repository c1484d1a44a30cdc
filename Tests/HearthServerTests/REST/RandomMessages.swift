import Foundation
import HearthModel
import TestSupport

@testable import HearthRPC
@testable import HearthServer

/// Makes messages on the wire in the form of usual encoders: fields in order, values that are the default left out.
struct RandomMessages {
  var random: SeededGenerator
  let schema = ProtoSchema.server
  /// In `google.protobuf.Value`, which has no number that JSON does not have.
  private var isFinite = false

  init(random: SeededGenerator) {
    self.random = random
  }

  mutating func message(_ name: String, depth: Int = 4) -> [UInt8] {
    guard let index = schema.index(of: name) else { return [] }
    return message(index, depth: depth)
  }

  private mutating func message(_ index: Int, depth: Int) -> [UInt8] {
    let message = schema.messages[index]
    switch message.wellKnown {
    case .timestamp: return time(seconds: random.below(4_000_000_000) - 1_000_000_000)
    case .duration: return time(seconds: random.below(1_000_000))
    case .any: return []
    default: break
    }
    var writer = WireWriter()
    let oneofs = Dictionary(grouping: message.fields.filter { $0.oneof != nil }) { $0.oneof ?? 0 }
    let chosen = oneofs.mapValues { random.element($0).number }
    for field in message.fields.sorted(by: { $0.number < $1.number }) {
      if let oneof = field.oneof {
        // A value without a kind is null, which a list of values then holds in another form.
        guard chosen[oneof] == field.number, message.wellKnown == .value || random.chance(90) else { continue }
      } else if !random.chance(60) {
        continue
      }
      let isMessage = if case .message = field.kind { true } else { false }
      if isMessage, depth == 0, field.oneof == nil { continue }
      let count = field.isRepeated ? (depth == 0 ? 0 : random.below(4)) : 1
      isFinite = message.wellKnown == .value
      for place in 0..<count {
        if field.isMap, case .message(let entry) = field.kind {
          writer.writeBytes(
            self.entry(entry, "key \(place) \"ä\" \(random.below(100))", depth: depth), field: field.number)
        } else {
          write(field, depth: depth, to: &writer)
        }
      }
    }
    return writer.bytes
  }

  private mutating func entry(_ index: Int, _ key: String, depth: Int) -> [UInt8] {
    var writer = WireWriter()
    writer.writeString(key, field: 1)
    if let value = schema.messages[index].field(2) {
      if case .message(let message) = value.kind {
        writer.writeBytes(self.message(message, depth: max(0, depth - 1)), field: 2)
      } else {
        write(value, depth: depth, to: &writer)
      }
    }
    return writer.bytes
  }

  private mutating func time(seconds: Int) -> [UInt8] {
    var writer = WireWriter()
    if seconds != 0 { writer.writeVarint(Int64(seconds), field: 1) }
    let nanoseconds = random.element([0, 5, 120_000, 7_000_000, 999_999_999])
    if nanoseconds != 0 { writer.writeVarint(Int64(nanoseconds), field: 2) }
    return writer.bytes
  }

  /// Writes one value that is not the default, except in oneofs.
  private mutating func write(_ field: FieldSchema, depth: Int, to writer: inout WireWriter) {
    func tag(_ bits: UInt64) {
      writer.writeVarint(UInt64(field.number) << 3 | UInt64(field.kind.wireType.rawValue))
      switch field.kind.wireType {
      case .varint: writer.writeVarint(bits)
      case .fixed64: writer.writeEncoded((0..<8).map { UInt8(truncatingIfNeeded: bits >> (8 * $0)) })
      default: writer.writeEncoded((0..<4).map { UInt8(truncatingIfNeeded: bits >> (8 * $0)) })
      }
    }
    switch field.kind {
    case .bool: tag(1)
    case .int32, .sint32, .sfixed32, .uint32, .fixed32: tag(UInt64(1 + random.below(1 << 30)))
    case .int64, .sint64: tag(random.next() | 1)
    case .uint64, .fixed64, .sfixed64: tag(random.next() | 1)
    case .double:
      let value = random.element([1.0, -2.5, 0.1, 1e300, .leastNonzeroMagnitude, .infinity, -.infinity, 123_456_789])
      tag((isFinite && value.isInfinite ? 1e21 : value).bitPattern)
    case .float: tag(UInt64(random.element([Float(1), -0.5, 0.1, 1e30]).bitPattern))
    case .string: writer.writeString(random.element(["a", "ä€𝄞", "\"\\\n\u{1}<>", "x\u{7F}y"]), field: field.number)
    case .bytes: writer.writeBytes((0...random.below(5)).map { _ in UInt8(random.below(256)) }, field: field.number)
    case .enumeration(let index):
      let type = schema.enums[index]
      tag(type.isNull ? 0 : UInt64(type.names.keys.filter { $0 > 0 }.sorted().randomElement(using: &random) ?? 1))
    case .message(let index): writer.writeBytes(message(index, depth: max(0, depth - 1)), field: field.number)
    }
  }
}
