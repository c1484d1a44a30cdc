import HearthModel
import Testing

@testable import HearthSync

@Suite("What a transaction asks the backend to commit")
struct TransactionRecordTests {
  private let set = Mutation.set(key("rooms/a"), ["n": 1])
  private let update = Mutation.patch(key("rooms/a"), ["n": 1], mask: FieldMask([field("n")]))
  private let delete = Mutation.delete(key("rooms/a"))

  @Test("the first write of a document that was read must find it as it was")
  func preconditionOfReadDocument() throws {
    var record = TransactionRecord()
    try record.read(found("rooms/a", 7))
    record.write(set)
    record.write(update)
    record.write(delete)
    #expect(try record.commit().map(\.precondition) == [.updateTime(version(7)), .exists(true), .none])
  }

  @Test("a document that was read as missing must still be missing, and cannot be updated")
  func missingDocument() throws {
    for mutation in [set, delete] {
      var record = TransactionRecord()
      try record.read(missing("rooms/a", 7))
      record.write(mutation)
      #expect(try record.commit().map(\.precondition) == [.exists(false)])
    }
    var record = TransactionRecord()
    try record.read(missing("rooms/a", 7))
    record.write(update)
    let error = #expect(throws: StatusError.self) { try record.commit() }
    #expect(error?.code == .invalidArgument)
    #expect(error?.message.contains("rooms/a") == true)
  }

  @Test("without a read, only an update asks for the document")
  func notRead() throws {
    var record = TransactionRecord()
    for mutation in [set, update, delete] { record.write(mutation) }
    #expect(try record.commit().map(\.precondition) == [.none, .exists(true), .none])
  }

  @Test("documents that were only read are verified")
  func verified() throws {
    var record = TransactionRecord()
    try record.read(found("rooms/b", 3))
    try record.read(missing("rooms/a", 3))
    try record.read(found("rooms/c", 4))
    record.write(.set(key("rooms/c"), [:]))
    let commit = try record.commit()
    #expect(commit.map(\.key.id) == ["c", "a", "b"])
    #expect(commit.map(\.operation).suffix(2) == [.verify, .verify])
    #expect(commit.map(\.precondition) == [.updateTime(version(4)), .exists(false), .updateTime(version(3))])
  }

  @Test("reads come before writes, and a document must not change between two reads")
  func reads() throws {
    var record = TransactionRecord()
    try record.validateRead()
    try record.read(found("rooms/a", 1))
    try record.read(found("rooms/a", 1))
    #expect(throws: StatusError(code: .aborted, message: "Document version changed between two reads.")) {
      try record.read(found("rooms/a", 2))
    }
    #expect(throws: StatusError.self) { try record.read(missing("rooms/a", 3)) }
    record.write(set)
    let error = #expect(throws: StatusError.self) { try record.validateRead() }
    #expect(error?.code == .invalidArgument)
  }

  @Test("conflicts and what is not permanent are worth another attempt")
  func retries() {
    let codes = (0...16).compactMap(StatusCode.init(rawValue:)).filter { $0 != .ok }
    #expect(
      codes.filter(TransactionRecord.mayRetry(after:)) == [
        .cancelled, .unknown, .deadlineExceeded, .alreadyExists, .resourceExhausted, .failedPrecondition, .aborted,
        .internal, .unavailable, .unauthenticated,
      ])
  }
}
