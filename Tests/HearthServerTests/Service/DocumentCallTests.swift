import Foundation
import GRPCCore
import HearthModel
import HearthTransport
import HearthWire
import SwiftProtobuf
import Testing

@testable import HearthServer

@Suite("Calls about single documents", .everyStorage)
struct DocumentCallTests {
  @Test("a created document can be read, with equal create and update times")
  func createAndGet() async throws {
    try await ServerFixture.withServer { fixture in
      var request = Google_Firestore_V1_CreateDocumentRequest()
      request.parent = ServerFixture.database.documentsName
      request.collectionID = "cities"
      request.documentID = "SF"
      request.document = documentBytes(nil, ["population": 860_000.value])
      let created: Google_Firestore_V1_Document = try await fixture.unary(Method.CreateDocument.descriptor, request)
      #expect(created.name == name("cities/SF"))
      #expect(created.createTime == created.updateTime)
      let read = try await fixture.get("cities/SF")
      #expect(read == created)
      #expect(read.fields["population"]?.integerValue == 860_000)

      let again = await failure {
        try await fixture.unary(Method.CreateDocument.descriptor, request) as Google_Firestore_V1_Document
      }
      #expect(again?.code == .alreadyExists)
      #expect(again?.message == "Document already exists: \(name("cities/SF"))")
    }
  }

  @Test("a document without an id gets one of 20 letters and digits")
  func createDrawsID() async throws {
    try await ServerFixture.withServer { fixture in
      var request = Google_Firestore_V1_CreateDocumentRequest()
      request.parent = name("cities/SF")
      request.collectionID = "parks"
      let created: Google_Firestore_V1_Document = try await fixture.unary(Method.CreateDocument.descriptor, request)
      let id = try #require(created.name.split(separator: "/").last)
      #expect(created.name.hasPrefix(name("cities/SF/parks/")))
      #expect(id.count == 20 && id.allSatisfy { $0.isASCII && ($0.isLetter || $0.isNumber) })
      request.document = documentBytes("x/y", [:])
      let named = await failure {
        try await fixture.unary(Method.CreateDocument.descriptor, request) as Google_Firestore_V1_Document
      }
      #expect(named?.code == .invalidArgument)
      #expect(named?.message == "document.name must not be set")
    }
  }

  @Test("single writes are answered from their own commit, also if no history is kept")
  func answersWithoutHistory() async throws {
    var limits = DatabaseLimits()
    limits.historyBytes = 0
    try await ServerFixture.withServer(databaseLimits: limits) { fixture in
      for round in 0..<3 {
        let documents = try await withThrowingTaskGroup(of: Google_Firestore_V1_Document.self) { group in
          for n in 0..<60 {
            group.addTask {
              var request = Google_Firestore_V1_UpdateDocumentRequest()
              request.document = documentBytes("c/d\(n)", ["n": (100 * round + n).value])
              return try await fixture.unary(Method.UpdateDocument.descriptor, request)
            }
          }
          return try await group.reduce(into: []) { $0.append($1) }
        }
        #expect(documents.count == 60)
        for document in documents {
          let id = try #require(document.name.split(separator: "/").last)
          #expect(try await fixture.get("c/\(id)") == document)
        }
      }
    }
  }

  @Test("a missing document is NOT_FOUND, a collection's name INVALID_ARGUMENT")
  func getErrors() async throws {
    try await ServerFixture.withServer { fixture in
      let missing = await failure { try await fixture.get("a/b") }
      #expect(missing?.code == .notFound)
      #expect(missing?.message == "Document \"\(name("a/b"))\" not found.")
      let collection = await failure { try await fixture.get("a") }
      #expect(collection?.code == .invalidArgument)
      #expect(collection?.message == "Document name \"\(name("a"))\" lacks \"/\" at index \(name("a").utf8.count).")
      var request = Google_Firestore_V1_GetDocumentRequest()
      request.name = "nonsense"
      let nonsense = await failure {
        try await fixture.unary(Method.GetDocument.descriptor, request) as Google_Firestore_V1_Document
      }
      #expect(nonsense?.code == .invalidArgument)
    }
  }

  @Test("a mask selects fields; an empty mask leaves none")
  func masks() async throws {
    try await ServerFixture.withServer { fixture in
      try await fixture.set("a/b", ["x": 1.value, "m": .map(["p": 2.value, "q": 3.value])])
      var request = Google_Firestore_V1_GetDocumentRequest()
      request.name = name("a/b")
      request.mask.fieldPaths = ["m.p", "absent"]
      let part: Google_Firestore_V1_Document = try await fixture.unary(Method.GetDocument.descriptor, request)
      #expect(part.fields.keys.sorted() == ["m"])
      #expect(part.fields["m"]?.mapValue.fields.keys.sorted() == ["p"])
      request.mask = Google_Firestore_V1_DocumentMask()
      let empty: Google_Firestore_V1_Document = try await fixture.unary(Method.GetDocument.descriptor, request)
      #expect(empty.fields.isEmpty && empty.hasUpdateTime)
    }
  }

  @Test("an update with a mask changes only its fields, and gives back the document")
  func update() async throws {
    try await ServerFixture.withServer { fixture in
      try await fixture.set("a/b", ["keep": 1.value, "change": 1.value, "drop": 1.value])
      var request = Google_Firestore_V1_UpdateDocumentRequest()
      request.document = documentBytes("a/b", ["change": 2.value, "ignored": 9.value])
      request.updateMask.fieldPaths = ["change", "drop"]
      let updated: Google_Firestore_V1_Document = try await fixture.unary(Method.UpdateDocument.descriptor, request)
      #expect(updated.fields.keys.sorted() == ["change", "keep"])
      #expect(updated.fields["change"]?.integerValue == 2)
      request.currentDocument.exists = false
      let refused = await failure {
        try await fixture.unary(Method.UpdateDocument.descriptor, request) as Google_Firestore_V1_Document
      }
      #expect(refused?.code == .alreadyExists)
    }
  }

  @Test("a missing document can be deleted unless a precondition says otherwise")
  func delete() async throws {
    try await ServerFixture.withServer { fixture in
      try await fixture.set("a/b")
      var request = Google_Firestore_V1_DeleteDocumentRequest()
      request.name = name("a/b")
      let _: Google_Protobuf_Empty = try await fixture.unary(Method.DeleteDocument.descriptor, request)
      #expect(await failure { try await fixture.get("a/b") }?.code == .notFound)
      let _: Google_Protobuf_Empty = try await fixture.unary(Method.DeleteDocument.descriptor, request)
      request.currentDocument.exists = true
      let refused = await failure {
        try await fixture.unary(Method.DeleteDocument.descriptor, request) as Google_Protobuf_Empty
      }
      #expect(refused?.code == .notFound)
      #expect(refused?.message == "No document to update: \(name("a/b"))")
    }
  }

  @Test("a batch get sends each document once, found ones first, and opens a transaction in its first message")
  func batchGet() async throws {
    try await ServerFixture.withServer { fixture in
      try await fixture.set("a/1")
      try await fixture.set("a/2")
      var request = Google_Firestore_V1_BatchGetDocumentsRequest()
      request.database = ServerFixture.database.resourceName
      request.documents = ["a/none", "a/2", "a/1", "a/2"].map(name)
      request.newTransaction = Google_Firestore_V1_TransactionOptions()
      let responses: [Google_Firestore_V1_BatchGetDocumentsResponse] = try await fixture.list(
        Method.BatchGetDocuments.descriptor, request)
      #expect(responses.count == 4)
      #expect(!responses[0].transaction.isEmpty && responses[0].result == nil)
      #expect(responses.dropFirst().allSatisfy { $0.hasReadTime && $0.transaction.isEmpty })
      #expect(responses[3].missing == name("a/none"))
      request.documents = ["projects/other/databases/(default)/documents/a/1"]
      let foreign = await failure {
        try await fixture.list(Method.BatchGetDocuments.descriptor, request)
          as [Google_Firestore_V1_BatchGetDocumentsResponse]
      }
      #expect(foreign?.code == .invalidArgument)
    }
  }

  @Test("a call that is not served says so by name")
  func unimplemented() async throws {
    try await ServerFixture.withServer { fixture in
      let failed = await failure {
        try await fixture.list(Method.ExecutePipeline.descriptor, Google_Firestore_V1_ExecutePipelineRequest())
          as [Google_Firestore_V1_ExecutePipelineResponse]
      }
      #expect(failed?.code == .unimplemented)
      #expect(failed?.message.contains("ExecutePipeline") == true)
    }
  }

  @Test(
    "tokens: the owner's and JSON web tokens are let in, others are not",
    arguments: [
      ("Bearer owner", true), ("Bearer eyJhbGciOiJub25lIn0.eyJzdWIiOiJhIn0.", true), ("Bearer nonsense", false),
      ("Bearer a.b.c", false), ("Basic owner", false),
    ])
  func authorization(header: String, isAccepted: Bool) async throws {
    try await ServerFixture.withServer { fixture in
      var fixture = fixture
      fixture.metadata = ["authorization": "\(header)"]
      let failed = await failure { [fixture] in try await fixture.get("a/b") }
      #expect(failed?.code == (isAccepted ? .notFound : .invalidArgument))
      if !isAccepted { #expect(failed?.message == "invalid jwt") }
    }
  }
}

extension Int {
  var value: Value { .integer(Int64(self)) }
}
