import HearthModel
import HearthRules
import TestSupport
import Testing

@testable import HearthServer

@Suite("Rules and stored documents")
struct RuleCheckTests {
  /// Decides whether a document with damaged fields may be read.
  private func get(_ condition: String) async throws(StatusError) {
    let rules: RuleCheck
    do {
      rules = RuleCheck(
        rules: try RulesFixture.rules("match /c/{id} { allow get: if \(condition); }"), auth: .null,
        database: ServerFixture.database, time: Timestamp(seconds: 0, nanoseconds: 0), explains: false, counter: nil)
    } catch {
      throw StatusError(code: .unknown, message: "\(error)")
    }
    let version = SnapshotVersion(Timestamp(seconds: 1, nanoseconds: 0))
    let document = Document.found(
      key("c/a"), version: version, fields: EncodedFields(uncheckedBytes: [0x0A, 0xFF, 1, 2]))
    try await rules.get([document]) { _ in [] }
  }

  @Test("a vector with anything but its numbers is a map to rules")
  func vectors() {
    func value(_ fields: MapValue) -> RuleValue { RuleValue(.map(fields)) }
    let type = Value.string("__vector__")
    guard case .vector([1, 2]) = value(["__type__": type, "value": .array([.double(1), .double(2)])]) else {
      return #expect(Bool(false))
    }
    for fields in [
      ["__type__": type, "value": .array([.double(1)]), "evil": .integer(1)],
      ["__type__": type, "value": .array([.integer(1)])], ["__type__": type, "value": .array([.string("x")])],
    ] as [MapValue] {
      guard case .map(let map) = value(fields) else {
        #expect(Bool(false), "\(fields)")
        continue
      }
      for entry in fields.entries { #expect(map[entry.key] != nil) }
    }
  }

  @Test("fields that are decoded for rules have the values that the model has, and the same errors")
  func decoding() throws {
    func text(_ map: () throws -> RuleMap) -> String {
      do { return RuleValue.map(try map()).text(limit: 10_000) } catch { return "\(error)" }
    }
    for value in ValueZoo.all {
      let whole = EncodedFields(["a": value, "l": .array([value, .null]), "m": .map(["k": value, "l": .array([])])])
      for count in [whole.bytes.count] + (0..<min(40, whole.bytes.count)) {
        let fields = EncodedFields(uncheckedBytes: Array(whole.bytes.prefix(count)))
        #expect(text { try RuleMap(fields) } == text { RuleMap(try fields.decoded()) }, "\(count) bytes of \(value)")
      }
    }
  }

  @Test("damaged fields are an error of the server where rules look at them, and do not count as missing")
  func damaged() async throws {
    for condition in ["resource.data.a == 1", "resource == null", "!(resource.data.a == 1) || true"] {
      let error = await #expect(throws: StatusError.self) { try await get(condition) }
      #expect(error?.code == .internal, "\(condition)")
    }
    try await get("true")
    let denied = await #expect(throws: StatusError.self) { try await get("false") }
    #expect(denied?.code == .permissionDenied)
  }
}
