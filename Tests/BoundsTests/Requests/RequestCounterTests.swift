import HearthModel
import NIOCore
import Testing

@testable import HearthRPC
@testable import HearthServer

@Suite("The count of what a request holds")
struct RequestCounterTests {
  private static let entries = 100_000

  @Test("every repeated field of every request has a rule, and every rule a field")
  func rules() {
    let names = Set(RepeatedField.all.map(\.name))
    #expect(names.count > 20)
    for name in names.sorted() where RequestShape.rules[name] == nil {
      Issue.record("\(name) has no rule in RequestShape.rules")
    }
    let schema = ProtoSchema.server
    for name in RequestShape.rules.keys {
      let parts = name.split(separator: ".")
      let message = schema.index(of: "google.firestore.v1." + parts.dropLast().joined(separator: "."))
      #expect(message.flatMap { schema.messages[$0].field(named: parts.last ?? "") } != nil, "\(name)")
    }
  }

  @Test("100,000 entries of a field that is counted are refused before a message is made of the request")
  func counted() throws {
    let counter = RequestCounter(limits: DatabaseLimits())
    for field in RepeatedField.all {
      let bytes = ByteBuffer(bytes: field.request(entries: Self.entries, areEqual: true))
      let excess = try counter.count(bytes, as: field.request).excess
      #expect((excess != nil) == field.isCounted, "\(field): \(excess as Any)")
      #expect(excess?.code == .invalidArgument || excess == nil)
    }
  }

  @Test("as many entries as are allowed are not refused, one more is, wherever it stands")
  func limits() throws {
    let limits = DatabaseLimits()
    let counter = RequestCounter(limits: limits)
    for field in RepeatedField.all {
      guard case .counted(let part)? = field.rule, part != .collections, part != .filters else { continue }
      let limit = part.limit(in: limits)
      for (count, isRefused) in [(limit, false), (limit + 1, true)] {
        let bytes = ByteBuffer(bytes: field.request(entries: count, areEqual: false))
        let excess = try counter.count(bytes, as: field.request).excess
        #expect((excess != nil) == isRefused, "\(field), \(count): \(excess as Any)")
      }
      // The same field as two occurrences of what holds it, which a reader of the message would put together.
      if field.path.count > 1, !field.path.dropLast().contains(where: \.field.isRepeated) {
        let twice = field.request(entries: limit, areEqual: false) + field.request(entries: 1, areEqual: true)
        #expect(try counter.count(ByteBuffer(bytes: twice), as: field.request).excess != nil, "\(field)")
      }
    }
  }

  @Test("groups are refused, and hide nothing")
  func groups() throws {
    let counter = RequestCounter(limits: DatabaseLimits())
    let field = try #require(RepeatedField.all.first { $0.name == "CommitRequest.writes" })
    // Field 100 begins as a group, and ends.
    let group: [UInt8] = [100 << 3 & 0x7F | 3 | 0x80, 6, 100 << 3 & 0x7F | 4 | 0x80, 6]
    let bytes = ByteBuffer(bytes: group + field.request(entries: Self.entries, areEqual: true))
    #expect(throws: CallStatus.self) { try counter.count(bytes, as: field.request).excess }
  }
}
