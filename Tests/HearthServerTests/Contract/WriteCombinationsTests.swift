import GRPCCore
import HearthModel
import Testing

@testable import HearthServer

@Suite("Several writes of one document in a request", .everyStorage)
struct WriteCombinationsTests {
  private static let document = key("c/d")
  private static let version = SnapshotVersion(microseconds: 7)

  private static func set(_ precondition: Precondition = .none) -> Mutation {
    Mutation(key: document, operation: .set(EncodedFields(["n": 1.value])), precondition: precondition)
  }

  private static let zero = Precondition.updateTime(.none)

  private static func verify(_ precondition: Precondition) -> Mutation {
    Mutation(key: document, operation: .verify, precondition: precondition)
  }

  private static func delete(_ precondition: Precondition = .none) -> Mutation {
    Mutation(key: document, operation: .delete, precondition: precondition)
  }

  /// The texts of Google's emulator for all that it refuses whatever the document is.
  private static let refused: [(String, [Mutation])] = [
    ("Cannot upsert then insert", [set(), set(.exists(false))]),
    ("Cannot update then insert", [set(.exists(true)), set(.exists(false))]),
    ("Cannot update then insert", [set(.updateTime(version)), set(.exists(false))]),
    ("Cannot insert then insert", [set(.exists(false)), set(.exists(false))]),
    ("Cannot upsert then delete", [set(), delete(.exists(false))]),
    ("Cannot insert then delete", [set(.exists(false)), delete(.exists(false))]),
    ("Cannot delete then update", [delete(), set(.exists(true))]),
    ("Cannot delete then update", [delete(), set(.updateTime(version))]),
    ("Cannot delete then delete", [delete(.exists(false)), delete(.exists(true))]),
    ("different version preconditions (null and", [set(), set(.updateTime(version))]),
    ("different version preconditions (null and", [delete(), delete(.updateTime(version))]),
    (
      "exactBaseVersion=7, maxBaseVersion=null} and VersionPrecondition{exactBaseVersion=8",
      [set(.updateTime(version)), set(.updateTime(SnapshotVersion(microseconds: 8)))]
    ),
    ("Cannot upsert then insert", [delete(), set(), set(.exists(false))]),
    ("Cannot insert then insert", [set(zero), set(zero)]),
    ("Cannot update then insert", [set(.exists(true)), set(zero)]),
    ("Cannot upsert then insert", [set(), set(zero)]),
    ("Cannot delete then update", [delete(zero), set(.exists(true))]),
    ("(null and VersionPrecondition{exactBaseVersion=0", [set(), delete(zero)]),
    ("(null and VersionPrecondition{exactBaseVersion=0", [delete(), set(zero)]),
    ("(null and VersionPrecondition{exactBaseVersion=0", [set(.exists(false)), delete(zero)]),
    ("exactBaseVersion=0, maxBaseVersion=null} and", [set(zero), set(.updateTime(version))]),
    ("written and then verified", [set(), verify(.exists(true))]),
    ("written and then verified", [delete(), verify(zero)]),
    ("verified and then written", [verify(.exists(false)), set(.exists(false))]),
    ("verified and then written", [verify(zero), delete()]),
    ("verified more than once", [verify(.exists(true)), verify(.exists(true))]),
    ("written and then verified", [set(), set(), verify(.updateTime(version))]),
  ]

  @Test("that cannot be turned into one are refused", arguments: refused)
  func refuses(text: String, mutations: [Mutation]) {
    var mutations = mutations
    let error = #expect(throws: StatusError.self) {
      try WriteCombinations.check(&mutations, in: ServerFixture.database)
    }
    #expect(error?.code == .invalidArgument && error?.message.contains(text) == true, "\(error as Any)")
  }

  @Test(
    "that can be turned into one are taken",
    arguments: [
      [set(), set(.exists(true)), delete()], [delete(), set(), set(.exists(true))], [delete(), set(.exists(false))],
      [set(.exists(false)), set()], [delete(), delete(.exists(false))], [set(zero), set(.exists(true))],
      [set(zero), delete()], [delete(zero), set(.exists(false))],
    ])
  func takes(mutations: [Mutation]) throws {
    var checked = mutations
    try WriteCombinations.check(&checked, in: ServerFixture.database)
    #expect(checked == mutations)
  }

  @Test("need the version of the stored document once")
  func version() throws {
    var mutations = [Self.set(.updateTime(Self.version)), Self.set(.updateTime(Self.version))]
    try WriteCombinations.check(&mutations, in: ServerFixture.database)
    #expect(mutations.map(\.precondition) == [.updateTime(Self.version), .none])
    mutations = [Self.delete(Self.zero), Self.delete(Self.zero), Self.set(Self.zero)]
    try WriteCombinations.check(&mutations, in: ServerFixture.database)
    #expect(mutations.map(\.precondition) == [Self.zero, .none, .none])
  }

  @Test("do not hinder writes of other documents")
  func others() throws {
    var mutations = [Self.delete(), Mutation(key: key("c/e"), operation: .delete, precondition: .exists(true))]
    try WriteCombinations.check(&mutations, in: ServerFixture.database)
    #expect(mutations.count == 2)
  }

  @Test("a delete and an update in one commit are refused before the document is looked at")
  func overTheWire() async throws {
    try await ServerFixture.withServer { fixture in
      let refusal = await failure { try await fixture.commit([Self.delete(), Self.set(.exists(true))]) }
      #expect(refusal?.code == .invalidArgument)
      #expect(refusal?.message == "Cannot delete then update an entity in the same request.")
    }
  }
}
