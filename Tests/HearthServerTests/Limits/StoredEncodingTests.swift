import Foundation
import GRPCCore
import HearthModel
import HearthTransport
import HearthWire
import SwiftProtobuf
import TestSupport
import Testing

@testable import HearthRPC
@testable import HearthServer

@Suite("The encoding of stored documents", .timeLimit(.minutes(3)))
struct StoredEncodingTests {
  private static let database = ServerFixture.database
  /// The message size that clients of gRPC accept by default.
  private static let clientBytes = 4 << 20

  private static func checked(_ bytes: [UInt8]) throws -> [UInt8] {
    let mutation = Mutation(
      key: key("c/d"), operation: .set(EncodedFields(uncheckedBytes: bytes)), precondition: .none)
    guard case .set(let fields) = try WriteLimits.checked(mutation, database: database).operation else { return [] }
    return fields.bytes
  }

  private static func arePlain(_ bytes: [UInt8]) -> Bool {
    EncodedFields(uncheckedBytes: bytes).arePlain(
      maximumDepth: WriteLimits.maximumDepth, maximumValueBytes: WriteLimits.maximumValueBytes,
      maximumVectorDimensions: WriteLimits.maximumVectorDimensions)
  }

  @Test("bytes in the form of usual encoders are kept, with the keys in any order", arguments: 1...20)
  func plain(seed: UInt64) throws {
    var generator = CaseGenerator(seed: seed, audience: .backend, database: Self.database)
    for _ in 0..<100 {
      let fields = generator.fields()
      let bytes = EncodedFields(fields).bytes
      #expect(try Self.checked(bytes) == bytes, "seed \(seed): \(fields)")
      let backwards = fields.entries.reversed().flatMap { EncodedFields([$0.key: $0.value]).bytes }
      #expect(Self.arePlain(backwards) == Self.arePlain(bytes), "seed \(seed): \(fields)")
      if Self.arePlain(bytes) { #expect(try Self.checked(backwards) == backwards, "seed \(seed): \(fields)") }
    }
  }

  @Test(
    "any other form of the same values is stored as the values are encoded, and has no room for anything else",
    arguments: 1...20)
  func others(seed: UInt64) throws {
    var generator = CaseGenerator(seed: seed, audience: .backend, database: Self.database)
    var padding = Padding(random: SeededGenerator(seed: seed))
    var padded = 0
    for _ in 0..<100 {
      let plain = EncodedFields(generator.fields()).bytes
      let other = padding.padded(plain, of: "google.firestore.v1.Document")
      if other != plain { padded += 1 }
      #expect(try EncodedFields(validating: other).decoded() == EncodedFields(validating: plain).decoded())
      #expect(try Self.checked(other) == plain, "seed \(seed): \(EncodedFields(uncheckedBytes: plain)), \(other)")
      if other != plain { #expect(!Self.arePlain(other), "seed \(seed)") }
    }
    #expect(padded > 20)
  }

  @Test("the size by the published rules is that of the values, without building them", arguments: 1...20)
  func storageSize(seed: UInt64) throws {
    var generator = CaseGenerator(seed: seed, audience: .backend, database: Self.database)
    for _ in 0..<100 {
      let fields = generator.fields()
      #expect(try EncodedFields(fields).storageSizeBytes() == fields.storageSizeBytes, "seed \(seed): \(fields)")
    }
  }

  @Test("six megabytes in an unknown field next to a number are not stored")
  func unknownField() async throws {
    try await ServerFixture.withServer { fixture in
      let value = Bytes.number(2, 1) + Bytes.field(100, [UInt8](repeating: 7, count: 6 << 20))
      #expect(await fixture.failure("Commit", Self.commit(value)) == nil)
      let stored = try await fixture.get("c/d")
      let size = try stored.serializedBytes() as [UInt8]
      #expect(size.count < 200)
      try await Self.expectReadable(fixture)
    }
  }

  @Test("values that take much and count little are refused before a client could not read them")
  func smallValues() async throws {
    try await ServerFixture.withServer { fixture in
      for (element, count) in [
        (Bytes.field(6, []), 1_500_000), (Bytes.field(6, []), 1_050_000), (Bytes.field(17, []), 1_000_000),
      ] {
        let refusal = await fixture.failure("Commit", Self.commit(Self.array(element, count)))
        #expect(refusal?.code == .invalidArgument)
        #expect(refusal?.message.contains("larger than a client can read") == true, "\(refusal as Any)")
        #expect(refusal?.message.contains("c/d") == true)
      }
      // Documents grow by merges and transforms, too.
      let half = Self.array(Bytes.field(6, []), 600_000)
      #expect(await fixture.failure("Commit", Self.commit(half)) == nil)
      let merge = Self.commit(half, field: "g", mask: ["g"])
      #expect(await fixture.failure("Commit", merge)?.code == .invalidArgument)
      try await Self.expectReadable(fixture)
    }
  }

  @Test("the largest documents that are stored can be read by every call, in messages of at most 4 MiB")
  func largest() async throws {
    try await ServerFixture.withServer { fixture in
      // As much as 1 MiB of values that count one byte can be: 222 short of the limit of the published rules.
      #expect(await fixture.failure("Commit", Self.commit(Self.array(Bytes.number(1, 1), 1_048_250))) == nil)
      try await Self.expectReadable(fixture)
      let tooMany = await fixture.failure("Commit", Self.commit(Self.array(Bytes.number(1, 1), 1_048_577)))
      #expect(tooMany?.code == .invalidArgument)
    }
  }

  @Test("times that no client can read are refused", arguments: [-62_135_596_801, 253_402_300_800, Int.max])
  func times(seconds: Int) async throws {
    try await ServerFixture.withServer { fixture in
      let value = Bytes.field(10, Bytes.number(1, seconds))
      let refusal = await fixture.failure("Commit", Self.commit(value))
      #expect(refusal?.code == .invalidArgument)
      #expect(refusal?.message.contains("field \"f\"") == true, "\(refusal as Any)")
    }
  }

  private static func array(_ element: [UInt8], _ count: Int) -> [UInt8] {
    Bytes.field(9, [UInt8](copies: count, of: Bytes.field(1, element)))
  }

  /// A commit that sets a field of c/d.
  private static func commit(_ value: [UInt8], field: String = "f", mask: [String] = []) -> [UInt8] {
    let entry = Bytes.field(2, Bytes.field(1, Array(field.utf8)) + Bytes.field(2, value))
    let document = Bytes.field(1, Array(name("c/d").utf8)) + entry
    let paths = mask.map { Bytes.field(1, Array($0.utf8)) }.joined()
    let write = Bytes.field(1, document) + (mask.isEmpty ? [] : Bytes.field(3, Array(paths)))
    return Bytes.field(1, Array(database.resourceName.utf8)) + Bytes.field(2, write)
  }

  /// Reads c/d with each kind of call.
  private static func expectReadable(_ fixture: ServerFixture) async throws {
    let query = Bytes.field(2, Bytes.field(2, Array("c".utf8)))
    let documents = Array(database.documentsName.utf8)
    let requests: [(String, [UInt8])] = [
      ("GetDocument", Bytes.field(1, Array(name("c/d").utf8))),
      (
        "BatchGetDocuments",
        Bytes.field(1, Array(database.resourceName.utf8)) + Bytes.field(2, Array(name("c/d").utf8))
      ),
      ("ListDocuments", Bytes.field(1, documents) + Bytes.field(2, Array("c".utf8)) + Bytes.number(3, 1)),
      ("RunQuery", Bytes.field(1, documents) + Bytes.field(2, query)),
    ]
    for (method, request) in requests {
      let sizes = try await fixture.responseSizes(method, request)
      #expect(sizes.allSatisfy { $0 <= clientBytes } && !sizes.isEmpty, "\(method): \(sizes)")
    }
    let target = Bytes.number(5, 2) + Bytes.field(2, Bytes.field(1, documents) + Bytes.field(2, query))
    let listen = Bytes.field(1, Array(database.resourceName.utf8)) + Bytes.field(2, target)
    let sizes = try await fixture.listenedSizes(listen)
    #expect(sizes.allSatisfy { $0 <= clientBytes } && !sizes.isEmpty, "Listen: \(sizes)")
  }
}

/// Parts of messages on the wire.
private enum Bytes {
  static func number(_ field: Int, _ number: Int) -> [UInt8] {
    var writer = WireWriter()
    writer.writeVarint(Int64(number), field: field)
    return writer.bytes
  }

  static func field(_ number: Int, _ contents: [UInt8]) -> [UInt8] {
    var writer = WireWriter()
    writer.writeBytes(contents, field: number)
    return writer.bytes
  }
}

/// Writes a message in forms that mean the same and are no shorter.
private struct Padding {
  var random: SeededGenerator
  private let schema = ProtoSchema.server

  init(random: SeededGenerator) {
    self.random = random
  }

  mutating func padded(_ bytes: [UInt8], of name: String) -> [UInt8] {
    guard let index = schema.index(of: name) else { return bytes }
    return padded(bytes, index)
  }

  private mutating func padded(_ bytes: [UInt8], _ index: Int) -> [UInt8] {
    let message = schema.messages[index]
    var result: [UInt8] = []
    bytes.withUnsafeBytes { bytes in
      var reader = WireReader(bytes)
      while let tag = try? reader.readTag("message") {
        if random.chance(3) { result += Bytes.field(100, [1, 2, 3]) }
        // Another value, which the one that follows replaces.
        if message.field(tag.field)?.oneof != nil, random.chance(5) { result += Bytes.number(2, 5) }
        result += varint(UInt64(tag.field) << 3 | UInt64(tag.type.rawValue))
        switch tag.type {
        case .varint: result += varint((try? reader.readVarint("number")) ?? 0)
        case .fixed64, .fixed32:
          let start = reader.position
          try? reader.skip(tag, "number")
          result += Array(reader.bytes(since: start))
        case .lengthDelimited:
          var contents = Array((try? reader.readBytes("contents")) ?? UnsafeRawBufferPointer(start: nil, count: 0))
          if case .message(let inner)? = message.field(tag.field)?.kind { contents = padded(contents, inner) }
          // An entry with the same key, which the one that follows replaces.
          if message.field(tag.field)?.isMap == true, random.chance(5), let key = Self.key(of: contents) {
            let entry = Bytes.field(1, key) + Bytes.field(2, Bytes.number(2, 7))
            result += varint(UInt64(entry.count)) + entry
            result += varint(UInt64(tag.field) << 3 | UInt64(tag.type.rawValue))
          }
          result += varint(UInt64(contents.count)) + contents
        }
      }
    }
    return result
  }

  private static func key(of entry: [UInt8]) -> [UInt8]? {
    entry.withUnsafeBytes { bytes in
      var (reader, key) = (WireReader(bytes), [UInt8]?.none)
      while let tag = try? reader.readTag("entry") {
        if tag.field == 1, tag.type == .lengthDelimited {
          key = (try? reader.readBytes("key")).map { Array($0) }
        } else {
          try? reader.skip(tag, "entry")
        }
      }
      return key
    }
  }

  /// Sometimes with bytes that add nothing.
  private mutating func varint(_ number: UInt64) -> [UInt8] {
    var bytes: [UInt8] = []
    var rest = number
    while rest > 0x7F {
      bytes.append(UInt8(rest & 0x7F) | 0x80)
      rest >>= 7
    }
    bytes.append(UInt8(rest))
    guard bytes.count < 9, random.chance(2) else { return bytes }
    bytes[bytes.count - 1] |= 0x80
    return bytes + [0]
  }
}

extension ServerFixture {
  fileprivate func responseSizes(_ method: String, _ request: [UInt8]) async throws -> [Int] {
    let descriptor = MethodDescriptor(
      service: ServiceDescriptor(fullyQualifiedService: FirestoreService.name), method: method)
    return try await client.serverStreaming(
      request: ClientRequest(message: request), descriptor: descriptor, serializer: AnyBytes(),
      deserializer: AnyBytes(), options: .defaults
    ) { response in
      var sizes: [Int] = []
      for try await message in response.messages { sizes.append(message.count) }
      return sizes
    }
  }

  /// The sizes of all responses up to the first snapshot.
  fileprivate func listenedSizes(_ request: [UInt8]) async throws -> [Int] {
    let descriptor = MethodDescriptor(
      service: ServiceDescriptor(fullyQualifiedService: FirestoreService.name), method: "Listen")
    let (open, close) = AsyncStream<Never>.makeStream()
    return try await client.bidirectionalStreaming(
      request: StreamingClientRequest { writer in
        try await writer.write(request)
        for await _ in open {}
      }, descriptor: descriptor, serializer: AnyBytes(), deserializer: AnyBytes(), options: .defaults
    ) { response in
      defer { close.finish() }
      var sizes: [Int] = []
      for try await message in response.messages {
        sizes.append(message.count)
        let parsed = try Google_Firestore_V1_ListenResponse(serializedBytes: Data(message))
        if case .targetChange(let change)? = parsed.responseType, change.targetChangeType == .current { return sizes }
      }
      return sizes
    }
  }
}
