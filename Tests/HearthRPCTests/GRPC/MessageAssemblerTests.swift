import HearthModel
import NIOCore
import NIOHPACK
import Testing

@testable import HearthRPC

@Suite("Messages of a request")
struct MessageAssemblerTests {
  private func bytes(_ messages: [[UInt8]]) -> ByteBuffer {
    var buffer = ByteBuffer()
    for message in messages { MessageAssembler.write(message, to: &buffer) }
    return buffer
  }

  @Test("come out the same, however they are cut into pieces", arguments: [1, 2, 3, 5, 7, 64, 1000])
  func pieces(size: Int) throws {
    let messages: [[UInt8]] = [[], [1], Array(repeating: 2, count: 300), [], Array(0...255)]
    var rest = bytes(messages)
    var assembler = MessageAssembler(maximumBytes: 300)
    var received: [[UInt8]] = []
    while let piece = rest.readSlice(length: min(size, rest.readableBytes)), piece.readableBytes > 0 {
      assembler.append(piece)
      while let message = try assembler.next() { received.append(Array(message.readableBytesView)) }
    }
    #expect(received == messages)
    #expect(assembler.unfinishedBytes == 0)
  }

  @Test("that are too large are refused by their length alone")
  func tooLarge() throws {
    var assembler = MessageAssembler(maximumBytes: 300)
    assembler.append(ByteBuffer(bytes: [0, 0, 0, 1, 45]))
    let error = #expect(throws: CallStatus.self) { try assembler.next() }
    #expect(error?.code == .invalidArgument)
    #expect(error?.message.contains("301") == true && error?.message.contains("300") == true)
  }

  @Test("that are compressed are refused")
  func compressed() throws {
    var assembler = MessageAssembler(maximumBytes: 300)
    assembler.append(ByteBuffer(bytes: [1, 0, 0, 0, 0]))
    #expect(throws: CallStatus.self) { try assembler.next() }
  }

  @Test("that are not complete keep nothing but their own bytes")
  func own() throws {
    var assembler = MessageAssembler(maximumBytes: 300)
    var large = ByteBuffer(repeating: 0, count: 1 << 20)
    large.setInteger(UInt8(0), at: 0)
    large.setInteger(UInt32(100), at: 1)
    assembler.append(large.getSlice(at: 0, length: 10) ?? ByteBuffer())
    #expect(try assembler.next() == nil)
    #expect((1..<1000).contains(assembler.heldBytes))
  }
}

@Suite("Heads of requests")
struct CallHeadTests {
  @Test(
    "time limits are one to eight digits and a unit",
    arguments: [
      ("1n", 1), ("99999999n", 99_999_999), ("2u", 2_000), ("3m", 3_000_000), ("4S", 4_000_000_000),
      ("5M", 300_000_000_000), ("1H", 3_600_000_000_000), ("99999999H", 365 * 24 * 3_600_000_000_000), ("0S", 0),
      ("-1n", nil), ("+1n", nil), ("", nil), ("n", nil), ("1", nil), ("1x", nil), ("1.5S", nil), ("123456789n", nil),
      ("\u{661}S", nil),
    ] as [(String, Int64?)])
  func timeouts(text: String, nanoseconds: Int64?) {
    #expect(CallHead.timeout(text)?.nanoseconds == nanoseconds)
  }

  @Test("metadata leaves out the protocol's own headers; binary values are decoded with and without padding")
  func metadata() {
    let head = CallHead([
      ":method": "POST", ":path": "/a/b", "te": "trailers", "content-type": "application/grpc",
      "grpc-encoding": "identity", "x": "1", "y-bin": "AQ==, AgM", "x": "2",
    ])
    #expect(head.path == "/a/b")
    #expect(head.metadata["x"] == ["1", "2"])
    #expect(head.metadata["te"].isEmpty && head.metadata["grpc-encoding"].isEmpty)
    #expect(head.metadata.binary("y-bin") == [[1], [2, 3]])
  }

  @Test("texts of a status are percent-encoded")
  func percentEncoding() {
    #expect(CallStatus.percentEncoded("plain ~ text") == "plain ~ text")
    #expect(CallStatus.percentEncoded("100 % ü\n") == "100 %25 %C3%BC%0A")
  }
}
