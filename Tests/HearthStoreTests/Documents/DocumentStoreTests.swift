import HearthModel
import HearthStore
import Testing

@Suite("Document store")
struct DocumentStoreTests {
  let folder: TemporaryFolder
  init() throws { folder = try TemporaryFolder() }

  func open(_ location: TestLocation) throws -> DocumentStore {
    try DocumentStore(database: location.open(in: folder))
  }

  @Test("fields of many bytes can be left out, and all else is read as ever", arguments: TestLocation.allCases)
  func shortDocuments(location: TestLocation) throws {
    let store = try open(location)
    let long = found("c/long", 5, ["a": .string(String(repeating: "x", count: 100_000))], readTime: 9)
    let documents = [long, found("c/short", 5, ["a": .integer(1)]), found("c/empty", 1), missing("c/missing", 3)]
    for document in documents { try store.set(document) }
    for document in documents + [Document.unknown(key("c/none")), .unknown(key("none/none"))] {
      let size = document.fields.bytes.count
      let whole = try store.document(for: document.key, withFieldsUpTo: size)
      #expect(whole.isComplete && whole.document == document && whole.document.fields.bytes == document.fields.bytes)
      guard size > 0 else { continue }
      let head = try store.document(for: document.key, withFieldsUpTo: size - 1)
      #expect(!head.isComplete && head.document.fields.isEmpty && head.document.isFound)
      #expect(head.document.version == document.version && head.document.createTime == document.createTime)
    }
  }

  @Test("every kind of document is read back as it was stored", arguments: TestLocation.allCases)
  func readBack(location: TestLocation) throws {
    let store = try open(location)
    var committed = found("c/committed", 7, ["a": .integer(1)])
    committed.mutationState = .hasCommittedMutations
    let documents = [
      found("c/found", 5, ["a": .string("é\u{0}"), "b": .map(["c": .array([.null])])], readTime: 9),
      found("c/empty", 1), missing("c/missing", 3), committed,
      Document.foundWithUnknownContents(key("c/unknown contents"), version: version(4)),
    ]
    for document in documents { try store.set(document) }
    for document in documents {
      let read = try store.document(for: document.key)
      #expect(read == document)
      #expect(read.fields.bytes == document.fields.bytes)
      #expect(read.readTime == document.readTime)
      #expect(read.createTime == document.createTime)
    }
    #expect(try store.count() == documents.count)
    #expect(try store.document(for: key("c/nothing")) == .unknown(key("c/nothing")))
    #expect(try store.document(for: key("other/found")) == .unknown(key("other/found")))
    let several = try store.documents(for: [key("c/found"), key("c/nothing")])
    #expect(several == [key("c/found"): documents[0], key("c/nothing"): .unknown(key("c/nothing"))])
  }

  @Test("what was stored is there after the file is opened again")
  func reopen() throws {
    let document = found("c/a/sub/b", 5, ["a": .integer(1)])
    do {
      let store = try open(.file)
      try store.setAll(document, missing("c/x", 2))
      store.database.close()
    }
    let store = try open(.file)
    #expect(try store.document(for: document.key) == document)
    #expect(try store.document(for: key("c/x")) == missing("c/x", 2))
  }

  @Test("a later state replaces the earlier one, of whatever kind", arguments: TestLocation.allCases)
  func replace(location: TestLocation) throws {
    let store = try open(location)
    try store.set(found("c/a", 1, ["a": .integer(1)]))
    try store.set(missing("c/a", 2))
    #expect(try store.document(for: key("c/a")) == missing("c/a", 2))
    try store.set(found("c/a", 3, ["a": .integer(3)]))
    #expect(try store.document(for: key("c/a")) == found("c/a", 3, ["a": .integer(3)]))
    #expect(try store.count() == 1)
  }

  @Test("a removed document is unknown, and so is one that is set to unknown", arguments: TestLocation.allCases)
  func remove(location: TestLocation) throws {
    let store = try open(location)
    try store.setAll(found("c/a"), found("c/b"), found("c/c"))
    try store.remove(key("c/a"))
    try store.set(.unknown(key("c/b")))
    try store.remove(key("c/never"))
    try store.remove(key("never/x"))
    #expect(try keys(store.scan(.collection(path("c")))) == ["c/c"])
    try store.remove(key("c/c"))
    #expect(try store.count() == 0)
    #expect(try store.childIDs(under: path("")) == [])
    try store.set(found("c/a"))
    try store.removeAll()
    #expect(try store.count() == 0)
    try store.set(found("c/a"))
    #expect(try store.count() == 1)
  }

  @Test("a collection that is emptied and filled again within one transaction works")
  func emptyAndFill() throws {
    let store = try open(.memory)
    try store.database.transaction("test") {
      try store.set(found("c/a"))
      try store.remove(key("c/a"))
      try store.set(found("d/a"))
      try store.set(found("c/b"))
    }
    #expect(try keys(store.scan(.collection(path("c")))) == ["c/b"])
    #expect(try keys(store.scan(.collection(path("d")))) == ["d/a"])
  }

  @Test("what a rolled back transaction knew about collections is forgotten", arguments: TestLocation.allCases)
  func rolledBackCollection(location: TestLocation) throws {
    struct Stop: Error {}
    let store = try open(location)
    #expect(throws: Stop.self) {
      try store.database.transaction("test") {
        try store.set(found("c/a"))
        throw Stop()
      }
    }
    try store.setAll(found("d/a"))
    try store.setAll(found("c/b"))
    #expect(try keys(store.scan(.collection(path("c")))) == ["c/b"])
    #expect(try keys(store.scan(.collection(path("d")))) == ["d/a"])
  }

  @Test("two connections to one file see each other's collections")
  func twoConnections() throws {
    let first = try open(.file)
    let second = try open(.file)
    try first.set(found("c/a"))
    try second.set(found("c/b"))
    try second.remove(key("c/a"))
    try second.remove(key("c/b"))
    try second.set(found("d/a"))
    try first.set(found("c/c"))
    #expect(try keys(first.scan(.collection(path("c")))) == ["c/c"])
    #expect(try keys(second.scan(.collection(path("d")))) == ["d/a"])
  }

  @Test(
    "times keep their nanoseconds",
    arguments: [
      (0, 0), (1, 1), (1, 999), (1, 1000), (1, 999_999_999), (-1, 1), (-1, 999_999_999),
      (Timestamp.validSeconds.lowerBound, 0), (Timestamp.validSeconds.upperBound, 999_999_999),
    ] as [(Int64, Int32)])
  func nanoseconds(seconds: Int64, nanoseconds: Int32) throws {
    let store = try open(.memory)
    let time = SnapshotVersion(Timestamp(seconds: seconds, nanoseconds: nanoseconds))
    let other = SnapshotVersion(Timestamp(seconds: 5, nanoseconds: 123_456_789))
    for times in [(time, other, other), (other, time, other), (other, other, time), (time, time, time)] {
      try store.set(
        .found(key("c/a"), version: times.0, createTime: times.1, readTime: times.2, fields: .empty))
      let read = try store.document(for: key("c/a"))
      #expect(read.version == times.0)
      #expect(read.createTime == times.1)
      #expect(read.readTime == times.2)
    }
  }

  @Test("a time that cannot be stored is an error that names the document, and nothing changes")
  func impossibleTime() throws {
    let store = try open(.memory)
    for seconds in [Int64.max, .min] {
      let time = SnapshotVersion(Timestamp(seconds: seconds, nanoseconds: 0))
      do {
        try store.set(.found(key("c/a"), version: time, fields: .empty))
        Issue.record("stored")
      } catch let error as StoreError {
        #expect(error.kind == .misuse)
        #expect(error.message.contains("c/a"))
      }
    }
    #expect(try store.count() == 0)
  }

  @Test("names that differ in bytes only are different documents and collections", arguments: TestLocation.allCases)
  func byteNames(location: TestLocation) throws {
    let store = try open(location)
    try store.setAll(found("é/é", 1), found("e\u{301}/é", 2), found("é/e\u{301}", 3), found("É/é", 4))
    #expect(try store.count() == 4)
    #expect(try store.document(for: key("é/e\u{301}")).version == version(3))
    #expect(try store.document(for: key("e\u{301}/é")).version == version(2))
    #expect(try store.scan(.collection(path("é"))).count == 2)
  }

  @Test("documents of 1 MiB are stored and scanned", arguments: TestLocation.allCases)
  func largeDocuments(location: TestLocation) throws {
    let store = try open(location)
    let text = String(repeating: "x", count: 1 << 20)
    try store.setAll(
      found("c/a", 1, ["t": .string(text)]), found("c/b", 1, ["t": .string(text + "y"), "u": .integer(1)]))
    let filter = Filter.field(field("u"), .equal, .integer(1))
    let result = try QueryExecutor(documents: store).run(Query(path: path("c"), filters: [filter]))
    #expect(keys(result.documents) == ["c/b"])
    #expect(try store.document(for: key("c/a")).fields.decoded()["t"] == .string(text))
    #expect(try store.database.usedBytes > 2 << 20)
  }
}

@Suite("Scanning documents")
struct ScanningTests {
  let folder: TemporaryFolder
  init() throws { folder = try TemporaryFolder() }

  @Test("a collection is read without its subcollections and without its neighbours", arguments: TestLocation.allCases)
  func collection(location: TestLocation) throws {
    let store = try DocumentStore(database: location.open(in: folder))
    try store.setAll(
      found("c/b"), found("c/a/s/x"), found("c/a"), missing("c/d", 2), found("cc/a"), found("x/c/c/y"))
    #expect(try keys(store.scan(.collection(path("c")))) == ["c/a", "c/b", "c/d"])
    #expect(try keys(store.scan(.collection(path("c/a/s")))) == ["c/a/s/x"])
    #expect(try keys(store.scan(.collection(path("nothing")))) == [])
  }

  @Test("a group is every collection with the id, optionally below a path", arguments: TestLocation.allCases)
  func group(location: TestLocation) throws {
    let store = try DocumentStore(database: location.open(in: folder))
    try store.setAll(
      found("s/1"), found("c/a/s/2"), found("c/a-/s/3"), found("c/a/t/x/s/4"), found("c/a/ss/5"), found("d/a/s/6"))
    func read(_ under: String) throws -> [String] {
      try store.scan(.group("s", under: path(under))).map(\.key.id).sorted()
    }
    #expect(try read("") == ["1", "2", "3", "4", "6"])
    #expect(try read("c") == ["2", "3", "4"])
    #expect(try read("c/a") == ["2", "4"])
    #expect(try read("c/a/t") == ["4"])
    #expect(try read("nothing/x") == [])
  }

  @Test("only what was read later than a version, exactly", arguments: TestLocation.allCases)
  func changedAfter(location: TestLocation) throws {
    let store = try DocumentStore(database: location.open(in: folder))
    try store.setAll(
      found("c/a", 1, readTime: 10), found("c/b", 50, readTime: 11), missing("c/c", 12), found("c/d/s/e", 20),
      found("c/e", 1, readTime: 5))
    var fine = found("c/fine", 1)
    fine.readTime = SnapshotVersion(Timestamp(seconds: 0, nanoseconds: 10_500))
    try store.set(fine)
    func read(_ nanoseconds: Int32) throws -> [String] {
      let bound = SnapshotVersion(Timestamp(seconds: 0, nanoseconds: nanoseconds))
      return try store.scan(.collection(path("c")), changedAfter: bound).map(\.key.id)
    }
    #expect(try read(0) == ["a", "b", "c", "e", "fine"])
    #expect(try read(9_999) == ["a", "b", "c", "fine"])
    #expect(try read(10_000) == ["b", "c", "fine"])
    #expect(try read(10_499) == ["b", "c", "fine"])
    #expect(try read(10_500) == ["b", "c"])
    #expect(try read(11_000) == ["c"])
    #expect(try read(12_000) == [])
    #expect(try store.scan(.group("s", under: path("")), changedAfter: version(19)).map(\.key.id) == ["e"])
    try store.set(found("c/a", 2, readTime: 30))
    #expect(try read(12_000) == ["a"], "an update moves the document in the index")
  }

  @Test("a scan stops when it is told to, or when the caller throws, and the next one is complete")
  func stops() throws {
    struct Stop: Error {}
    let store = try DocumentStore(database: Database(.memory))
    try store.setAll(found("c/a"), found("c/b"), found("x/y/c/z"))
    var visited = 0
    try store.forEach(in: .group("c", under: path(""))) { _ in
      visited += 1
      return false
    }
    #expect(visited == 1)
    #expect(throws: Stop.self) { try store.forEach(in: .collection(path("c"))) { _ in throw Stop() } }
    #expect(try store.scan(.group("c", under: path(""))).count == 3)
  }

  @Test("fields are read in place, keys on demand")
  func inPlace() throws {
    let store = try DocumentStore(database: Database(.memory))
    try store.set(found("c/a", 3, ["n": .integer(42)], readTime: 4))
    var seen: [(key: DocumentKey, kind: Document.Kind, version: SnapshotVersion, readTime: SnapshotVersion)] = []
    var values: [Value?] = []
    try store.forEach(in: .collection(path("c"))) { stored in
      seen.append((try stored.key, try stored.kind, try stored.version, try stored.readTime))
      values.append(try stored.withFields { try $0.value(at: field("n"))?.decoded() })
      return true
    }
    #expect(seen.count == 1)
    #expect(seen.first?.key == key("c/a"))
    #expect(seen.first?.kind == .found)
    #expect(seen.first?.version == version(3))
    #expect(seen.first?.readTime == version(4))
    #expect(values == [.integer(42)])
  }
}
