internal import HearthModel
internal import HearthRPC
internal import NIOCore

/// Counts the parts of a request in its bytes.
///
/// Only a request within the limits is decoded into a message. A request beyond the limits costs reading a few bytes for each entry, up to
/// the first excess entry. So later code need not be fast for arbitrary numbers of entries.
struct RequestCounter: Sendable {
  private let shape: RequestShape
  private let limits: [Int]

  /// The depth to which the library that reads messages follows them.
  private static let maximumDepth = 100

  init(limits: DatabaseLimits, shape: RequestShape = .server) {
    self.shape = shape
    self.limits = CountedPart.allCases.map { $0.limit(in: limits) }
  }

  /// - Parameter message: The full name of the request's message.
  /// - Throws: INVALID_ARGUMENT for bytes that cannot be read.
  func count(_ bytes: ByteBuffer, as message: String) throws(CallStatus) -> RequestCount {
    guard let root = shape.index(of: message) else { return RequestCount(entries: 0) }
    do throws(WireFormatError) {
      return try bytes.withUnsafeReadableBytes { bytes throws(WireFormatError) in
        var counts = Counts()
        let excess = try excess(in: WireReader(bytes), root, &counts, depth: 1)
        return RequestCount(excess: excess, entries: counts.entries)
      }
    } catch {
      throw CallStatus(.invalidArgument, "Can't deserialize to message of type \(message): \(error)")
    }
  }

  /// The entries so far.
  private struct Counts {
    var parts = SIMD16<UInt32>()
    var entries = 0
  }

  private func excess(
    in message: WireReader, _ index: Int, _ counts: inout Counts, depth: Int
  ) throws(WireFormatError) -> CallStatus? {
    guard depth <= Self.maximumDepth else {
      throw message.error("messages are nested more than \(Self.maximumDepth) levels deep", "request")
    }
    let steps = shape.steps[index]
    var reader = message
    while let tag = try reader.readTag("request") {
      guard tag.type == .lengthDelimited, let step = steps.first(where: { $0.field == tag.field }) else {
        try reader.skip(tag, "request")
        continue
      }
      let contents = try reader.readMessage("request")
      if let excess = try excess(in: contents, of: step, &counts, depth: depth) { return excess }
    }
    return nil
  }

  private func excess(
    in contents: WireReader, of step: RequestShape.Step, _ counts: inout Counts, depth: Int
  ) throws(WireFormatError) -> CallStatus? {
    switch step.rule {
    case .counted(let part):
      guard count(part, &counts) else { return refusal(part, step.name) }
    case .countedApart(let part):
      guard count(part, &counts) else { return refusal(part, step.name) }
      guard let message = step.message else { return nil }
      var inner = Counts()
      defer { counts.entries += inner.entries }
      return try excess(in: contents, message, &inner, depth: depth + 1)
    case .operand:
      return try listExcess(in: contents, step.name)
    case .contents, .unserved, nil: break
    }
    guard let message = step.message else { return nil }
    return try excess(in: contents, message, &counts, depth: depth + 1)
  }

  /// - Returns: False if it is one too many.
  private func count(_ part: CountedPart, _ counts: inout Counts) -> Bool {
    counts.parts[part.rawValue] += 1
    counts.entries += 1
    return counts.parts[part.rawValue] <= limits[part.rawValue]
  }

  private func listExcess(in value: WireReader, _ name: String) throws(WireFormatError) -> CallStatus? {
    var (value, counts) = (value, Counts())
    while let tag = try value.readTag("Value") {
      guard tag == WireTag(field: ValueFields.array, type: .lengthDelimited) else {
        try value.skip(tag, "Value")
        continue
      }
      var list = try value.readMessage("Value.array_value")
      while let tag = try list.readTag("ArrayValue") {
        if tag.field == ValueFields.arrayElements, !count(.listValues, &counts) { return refusal(.listValues, name) }
        try list.skip(tag, "ArrayValue")
      }
    }
    return nil
  }

  /// Numbers of fields of `google.firestore.v1.Value` and `ArrayValue`.
  private enum ValueFields {
    static let array = 9
    static let arrayElements = 1
  }

  private func refusal(_ part: CountedPart, _ field: String) -> CallStatus {
    let message = part.message(field: field, limit: limits[part.rawValue])
    var status = CallStatus(.invalidArgument, message)
    status.exceeded = part.exceededLimit
    return status
  }
}
