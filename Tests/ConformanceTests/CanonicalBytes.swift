import SwiftProtobuf

/// The bytes of a message with maps in a fixed order. Messages compare their strings by Swift's rules, which take composed and
/// decomposed characters for the same; bytes do not.
func canonicalBytes(_ message: some Message) throws -> [UInt8] {
  var options = BinaryEncodingOptions()
  options.useDeterministicOrdering = true
  return try message.serializedBytes(options: options)
}
