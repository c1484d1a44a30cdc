internal import Foundation
internal import HearthModel
internal import HearthWire
internal import NIOCore

/// The parts of a request to add a target that name it: the database, and the target's id. The query itself is not read.
struct ListenRequestHead {
  /// Without query, and with no documents.
  private(set) var request = Google_Firestore_V1_ListenRequest()

  /// Numbers of fields of `ListenRequest` and `Target`.
  private enum Field {
    static let database = 1
    static let addTarget = 2
    static let targetID = 5
  }

  /// - Returns: Nil for a request that adds no target.
  /// - Throws: `WireFormatError`
  init?(of bytes: ByteBuffer) throws {
    try bytes.withUnsafeReadableBytes { bytes in
      var reader = WireReader(bytes)
      while let tag = try reader.readTag("ListenRequest") {
        switch (tag.field, tag.type) {
        case (Field.database, .lengthDelimited): request.database = try reader.readString("ListenRequest.database")
        case (Field.addTarget, .lengthDelimited):
          request.addTarget.documents.documents = []
          try read(reader.readMessage("ListenRequest.add_target"))
        default: try reader.skip(tag, "ListenRequest")
        }
      }
    }
    guard case .addTarget? = request.targetChange else { return nil }
  }

  private mutating func read(_ target: WireReader) throws(WireFormatError) {
    var reader = target
    while let tag = try reader.readTag("Target") {
      if tag == WireTag(field: Field.targetID, type: .varint) {
        request.addTarget.targetID = Int32(truncatingIfNeeded: try reader.readVarint("Target.target_id"))
      } else {
        try reader.skip(tag, "Target")
      }
    }
  }
}
