internal import Foundation
internal import HearthModel
internal import SwiftProtobuf

/// The descriptors of the server's services: google.firestore.v1 with its imports, health, reflection, and the details of errors.
///
/// They are in the program (`Resources/server.protoset`). Each file comes after the files that it imports.
package struct DescriptorSet: Sendable {
  struct File: Sendable {
    let descriptor: Google_Protobuf_FileDescriptorProto
    /// The descriptor as it was encoded by its authors.
    let bytes: [UInt8]
  }

  let files: [File]

  /// Read when it is first needed.
  package static let server = DescriptorSet(encoded: PackageResources.server_protoset)

  /// - Parameter encoded: A `google.protobuf.FileDescriptorSet`. It is part of the program; what cannot be read of it is left out, and a
  ///   test reads all of it.
  init(encoded: [UInt8]) {
    var files: [File] = []
    encoded.withUnsafeBytes { bytes in
      var reader = WireReader(bytes)
      while let tag = try? reader.readTag("FileDescriptorSet"), tag == WireTag(field: 1, type: .lengthDelimited) {
        guard let file = try? reader.readBytes("FileDescriptorSet.file") else { break }
        guard let descriptor = try? Google_Protobuf_FileDescriptorProto(serializedBytes: Data(file)) else { continue }
        files.append(File(descriptor: descriptor, bytes: [UInt8](file)))
      }
    }
    self.files = files
  }
}
