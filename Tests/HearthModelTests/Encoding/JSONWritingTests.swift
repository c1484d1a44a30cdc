import HearthModel
import Testing

@Suite("Writing JSON")
struct JSONWritingTests {
  @Test("a text that was written is read back, whatever characters it has")
  func strings() throws {
    let text = "\"\\/\n\r\t\u{0}\u{1B}\u{7F}\u{85}é\u{65}\u{301}😀"
    for written in [JSONText.string(text).compact, JSONText.string(text).indented] {
      #expect(!written.unicodeScalars.contains { $0.value < 0x20 || (0x7F...0x9F).contains($0.value) })
      guard case .string(let read) = try JSONTextReader.read(Array(written.utf8)[...]) else {
        return #expect(Bool(false), "\(written)")
      }
      #expect(Array(read.utf8) == Array(text.utf8))
    }
  }

  @Test("arrays and objects have one line or many")
  func layout() {
    let json = JSONText.object([("a", .array([1, .null])), ("b", .object([])), ("c", .double(.nan))])
    #expect(json.compact == #"{"a":[1,null],"b":{},"c":"NaN"}"#)
    #expect(json.indented == "{\n  \"a\": [\n    1,\n    null\n  ],\n  \"b\": {},\n  \"c\": \"NaN\"\n}")
  }

  @Test(
    "a time is written in UTC",
    arguments: [
      (0, 0, "1970-01-01T00:00:00Z"), (951_782_400, 0, "2000-02-29T00:00:00Z"),
      (951_868_799, 500_000_000, "2000-02-29T23:59:59.5Z"),
      (-62_135_596_800, 0, "0001-01-01T00:00:00Z"), (253_402_300_799, 999_999_999, "9999-12-31T23:59:59.999999999Z"),
      (-2_203_891_200, 1_000, "1900-03-01T00:00:00.000001Z"), (1_735_603_200, 0, "2024-12-31T00:00:00Z"),
    ] as [(Int64, Int32, String)])
  func times(_ seconds: Int64, _ nanoseconds: Int32, _ text: String) {
    #expect(Timestamp(seconds: seconds, nanoseconds: nanoseconds).rfc3339 == text)
  }

  @Test("values keep their types")
  func values() {
    #expect(Value.bytes([0xFB, 0xFF]).typedJSON.compact == #"{"bytesValue":"+/8="}"#)
    #expect(
      Value.array([.null, true, 7]).typedJSON.compact
        == #"{"arrayValue":{"values":[{"nullValue":null},{"booleanValue":true},{"integerValue":"7"}]}}"#)
  }
}
