import Foundation
import HearthModel
import HearthWire
import NIOCore
import SwiftProtobuf
import Testing

@testable import HearthRPC
@testable import HearthServer

@Suite("Messages with a document, written in one piece")
struct DocumentFramesTests {
  /// Lengths around those at which a varint has one byte more.
  private static let textLengths = [0, 1, 60, 90, 100, 110, 120, 127, 128, 129, 300, 16_200, 16_383, 16_384, 2_097_152]

  private static func document(_ length: Int, _ id: String, _ times: (Int64, Int64)) -> Document {
    .found(
      key("rooms/ä b/\(id)/\(id)"), version: SnapshotVersion(microseconds: times.0),
      createTime: SnapshotVersion(microseconds: times.1), readTime: .none,
      fields: EncodedFields(["t": .string(String(repeating: "x", count: length))]))
  }

  private static let documents: [Document] = textLengths.flatMap { length in
    [("1", (1, 0)), ("__id7__", (1_700_000_000_123_456, 1_600_000_000_000_000)), ("é", (-5, 999_999))].map {
      document(length, $0.0, $0.1)
    }
  }

  @Test("are what the general encoder makes of the same documents, whatever their sizes, names and times")
  func equalMessages() throws {
    let database = ServerFixture.database
    let frames = SharedDocument.frames(to: 300, in: database)
    var buffer = ByteBuffer()
    for document in Self.documents { frames.write(document, to: &buffer) }
    var assembler = MessageAssembler(maximumBytes: .max)
    assembler.append(buffer)
    for document in Self.documents {
      let message = try #require(try assembler.next())
      let response = try Google_Firestore_V1_ListenResponse(serializedBytes: Data(message.readableBytesView))
      #expect(response.documentChange.document == ServerFixture.translator.encodeDocument(document))
      #expect(response.documentChange.targetIds == [300])
    }
    #expect(try assembler.next() == nil && assembler.unfinishedBytes == 0)
  }

  @Test("hold the document themselves where no field wraps it, with the other fields behind it")
  func unwrapped() throws {
    var others = Google_Firestore_V1_RunQueryResponse()
    others.skippedResults = 7
    let frames = DocumentFrames(of: ServerFixture.database, wrapper: nil, others: try others.serializedBytes())
    let document = Self.documents[4]
    var buffer = ByteBuffer()
    frames.write(document, to: &buffer)
    buffer.moveReaderIndex(forwardBy: 5)
    let response = try Google_Firestore_V1_RunQueryResponse(serializedBytes: Data(buffer.readableBytesView))
    #expect(response.document == ServerFixture.translator.encodeDocument(document))
    #expect(response.skippedResults == 7)
  }
}
