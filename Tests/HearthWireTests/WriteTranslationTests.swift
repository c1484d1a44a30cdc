import Foundation
import HearthModel
import HearthWire
import SwiftProtobuf
import Testing

private let translator = WireTranslator(database: database)
private let key = try! DocumentKey(parsing: "cities/SF")
private let name = "projects/demo/databases/(default)/documents/cities/SF"

private func reencoded(_ message: Google_Firestore_V1_Write) throws -> Google_Firestore_V1_Write {
  try Google_Firestore_V1_Write(serializedBytes: message.serializedBytes() as [UInt8])
}

@Suite("Writes on the wire")
struct WriteTranslationTests {
  @Test("every mutation comes back as it was, also through bytes")
  func roundTrip() throws {
    var generator = Generator(seed: Generator.seed)
    for _ in 0..<1000 {
      let mutation = generator.mutation()
      #expect(
        try translator.decode(write: reencoded(translator.encode(mutation))) == mutation, "seed \(Generator.seed)")
    }
  }

  @Test("a write is understood by who knows only the public messages")
  func publicForm() throws {
    let mutation = Mutation.patch(
      key, ["a.b": .integer(1)], mask: FieldMask([try FieldPath(["a.b"])]),
      transforms: [FieldTransform(path: try FieldPath(["t"]), operation: .serverTimestamp)])
    let message = try reencoded(translator.encode(mutation))
    let document = try Google_Firestore_V1_Document(serializedBytes: message.update)
    #expect(document.name == name)
    #expect(document.fields["a.b"]?.integerValue == 1)
    #expect(message.updateMask.fieldPaths == ["`a.b`"])
    #expect(message.updateTransforms.first?.setToServerValue == .requestTime)
    #expect(message.currentDocument.exists)
  }

  @Test("a set has no mask, an empty mask is one")
  func masks() throws {
    #expect(!translator.encode(Mutation.set(key, [:])).hasUpdateMask)
    let merge = translator.encode(Mutation.patch(key, [:], mask: .empty, precondition: .none))
    #expect(merge.hasUpdateMask)
    #expect(!merge.hasCurrentDocument)
  }

  @Test("the legacy transform operation is a patch that touches no other field")
  func legacyTransform() throws {
    var message = Google_Firestore_V1_Write()
    message.transform.document = name
    var transform = Google_Firestore_V1_DocumentTransform.FieldTransform()
    transform.fieldPath = "n"
    transform.increment = translator.encode(.integer(2))
    message.transform.fieldTransforms = [transform]
    #expect(
      try translator.decode(write: message)
        == Mutation(
          key: key, operation: .patch(.empty, mask: .empty),
          transforms: [FieldTransform(path: try FieldPath(["n"]), operation: .increment(.integer(2)))]))
  }

  /// A malformed write and the field that the error must name.
  struct Malformed: Sendable, CustomTestStringConvertible {
    var field: String
    var testDescription: String { field }
    var change: @Sendable (inout Google_Firestore_V1_Write) -> Void
  }

  static let malformed: [Malformed] = [
    Malformed(field: "Write.operation") { $0 = Google_Firestore_V1_Write() },
    Malformed(field: "Write.delete") { $0.delete = "" },
    Malformed(field: "Write.delete") { $0.delete = "projects/demo/databases/(default)/documents/cities" },
    Malformed(field: "Write.delete") { $0.delete = "projects/other/databases/(default)/documents/cities/SF" },
    Malformed(field: "Write.verify") { $0.verify = "cities/SF" },
    Malformed(field: "Write.update") { $0.update = Data([0x0a, 0xff, 0xff, 0xff, 0xff, 0x0f]) },
    Malformed(field: "Write.update") { $0.update = Data([0x12, 0x02, 0x0a, 0x05]) },
    Malformed(field: "Write.update.name") { $0.update = Data() },
    Malformed(field: "Write.update_mask.field_paths[1]") { $0.updateMask.fieldPaths = ["a", "b..c"] },
    Malformed(field: "Write.update_mask.field_paths[0]") { $0.updateMask.fieldPaths = ["`open"] },
    Malformed(field: "Write.update_mask") {
      $0.delete = name
      $0.updateMask.fieldPaths = ["a"]
    },
    Malformed(field: "Write.update_transforms") {
      $0.verify = name
      $0.updateTransforms = [.init()]
    },
    Malformed(field: "Write.update_transforms[0].field_path") { $0.updateTransforms = [.init()] },
    Malformed(field: "Write.update_transforms[0].transform_type") {
      $0.updateTransforms = [.with { $0.fieldPath = "a" }]
    },
    Malformed(field: "Write.update_transforms[0].set_to_server_value") {
      $0.updateTransforms = [
        .with {
          $0.fieldPath = "a"
          $0.setToServerValue = .UNRECOGNIZED(7)
        }
      ]
    },
    Malformed(field: "Write.update_transforms[0].increment") {
      $0.updateTransforms = [
        .with {
          $0.fieldPath = "a"
          $0.increment = translator.encode(.string("1"))
        }
      ]
    },
    Malformed(field: "Write.update_transforms[0].append_missing_elements") {
      $0.updateTransforms = [
        .with {
          $0.fieldPath = "a"
          $0.appendMissingElements = Data([0x0a, 0x00])  // one value of no kind
        }
      ]
    },
    Malformed(field: "Write.transform.field_transforms") { $0.transform.document = name },
    Malformed(field: "Write.transform.document") {
      $0.transform.document = "x"
      $0.transform.fieldTransforms = [.init()]
    },
    Malformed(field: "Write.current_document.update_time.nanos") { $0.currentDocument.updateTime.nanos = -5 },
  ]

  @Test("a malformed write is refused with the name of the field", arguments: malformed)
  func refusesMalformed(_ malformed: Malformed) throws {
    var message = translator.encode(Mutation.set(key, ["a": .null]))
    malformed.change(&message)
    #expect(try wireError { _ = try translator.decode(write: message) }.field == malformed.field)
  }

  @Test("no bytes in place of a document make the reader fail in another way than by an error")
  func damagedDocuments() throws {
    var generator = Generator(seed: Generator.seed)
    for _ in 0..<3000 {
      var message = translator.encode(Mutation.set(generator.key(), generator.map()))
      var bytes = [UInt8](message.update)
      for _ in 0..<Int.random(in: 1...3, using: &generator) {
        bytes[Int.random(in: bytes.indices, using: &generator)] = UInt8.random(in: 0...255, using: &generator)
      }
      if generator.bool() {
        bytes.removeLast(Int.random(in: 0..<bytes.count, using: &generator))
      }
      message.update = Data(bytes)
      do {
        _ = try translator.decode(write: message)
      } catch {
        #expect(error.field.hasPrefix("Write.update"), "seed \(Generator.seed)")
      }
    }
  }
}

@Suite("The write stream on the wire")
struct WriteStreamTranslationTests {
  @Test("the handshake names the database, later requests carry writes, token and label")
  func requests() {
    let handshake = translator.encode(WriteRequest.handshake)
    #expect(handshake.database == "projects/demo/databases/(default)")
    #expect(handshake.streamToken.isEmpty)
    #expect(handshake.writes.isEmpty)

    let request = WriteRequest.writes([.delete(key)], streamToken: [1, 2], batchLabel: "cache/7")
    let message = translator.encode(request)
    #expect(message.database.isEmpty)
    #expect(message.writes == [translator.encode(Mutation.delete(key))])
    #expect(message.streamToken == Data([1, 2]))
    #expect(message.labels == ["hearth-batch": "cache/7"])

    let goodbye = translator.encode(WriteRequest.writes([], streamToken: [1], batchLabel: nil))
    #expect(goodbye.writes.isEmpty)
    #expect(goodbye.streamToken == Data([1]))
    #expect(goodbye.labels.isEmpty)
  }

  @Test("an answer is read with its token, time and results; a result without a time has that of the commit")
  func responses() throws {
    let response = WriteResponse(
      streamToken: [9], commitVersion: SnapshotVersion(microseconds: 5),
      results: [
        MutationResult(version: SnapshotVersion(microseconds: 4), transformResults: [.null, .integer(3)]),
        MutationResult(version: SnapshotVersion(microseconds: 5)),
      ])
    var message = Google_Firestore_V1_WriteResponse()
    message.streamToken = Data([9])
    message.commitTime = translator.encode(response.commitVersion)
    message.writeResults = response.results.map { translator.encode($0) }
    #expect(try translator.decode(message) == response)

    message.writeResults[1] = translator.encode(response.results[1], isDelete: true)
    #expect(!message.writeResults[1].hasUpdateTime)
    #expect(try translator.decode(message) == response)

    let handshake = Google_Firestore_V1_WriteResponse.with { $0.streamToken = Data([1]) }
    #expect(try translator.decode(handshake) == WriteResponse(streamToken: [1]))
  }

  @Test("only its own text in the handshake's answer announces that a backend knows labels")
  func announcement() throws {
    let announcing = Google_Firestore_V1_WriteResponse.with {
      $0.streamToken = Data([1])
      $0.streamID = "hearth-batch-labels-1"
    }
    #expect(try translator.decode(announcing) == WriteResponse(streamToken: [1], knowsBatchLabels: true))
    for streamID in ["", "1", "hearth-batch-labels", "hearth-batch-labels-2", "cpcb:0"] {
      let message = Google_Firestore_V1_WriteResponse.with { $0.streamID = streamID }
      #expect(try !translator.decode(message).knowsBatchLabels)
    }
  }

  @Test("answers with times out of range are refused")
  func badResponses() throws {
    var message = Google_Firestore_V1_WriteResponse()
    message.commitTime.seconds = .max
    #expect(try wireError { _ = try translator.decode(message) }.field == "WriteResponse.commit_time.seconds")
    message.commitTime.seconds = 1
    message.writeResults = [.init(), .with { $0.updateTime.seconds = .max }]
    #expect(
      try wireError { _ = try translator.decode(message) }.field == "WriteResponse.write_results[1].update_time.seconds"
    )
  }

  @Test("of the results of transforms those before the first one that cannot be read count: the write is committed")
  func unreadableResults() throws {
    var message = Google_Firestore_V1_WriteResponse()
    message.commitTime.seconds = 1
    let results = [translator.encode(Value.integer(1)), .init(), translator.encode(Value.integer(2))]
    message.writeResults = [.with { $0.transformResults = results }, .init()]
    #expect(try translator.decode(message).results.map(\.transformResults) == [[.integer(1)], []])
  }

  @Test("a commit's answer gives its time and one result for each write")
  func commit() throws {
    let request = translator.encodeCommit([.delete(key)])
    #expect(request.database == database.resourceName)
    #expect(request.writes.count == 1)
    var message = Google_Firestore_V1_CommitResponse()
    #expect(try translator.decode(message).commitVersion == .none)
    message.commitTime = translator.encode(SnapshotVersion(microseconds: 8))
    message.writeResults = [.init()]
    let (version, results) = try translator.decode(message)
    #expect(version == SnapshotVersion(microseconds: 8))
    #expect(results == [MutationResult(version: version)])
    message.writeResults[0].updateTime.nanos = -1
    #expect(
      try wireError { _ = try translator.decode(message) }.field
        == "CommitResponse.write_results[0].update_time.nanos")
  }
}
