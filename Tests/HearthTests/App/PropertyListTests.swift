import Foundation
import TestSupport
import Testing

@testable import Hearth

@Suite("Property lists", .timeLimit(.minutes(2)))
struct PropertyListTests {
  private static let names: Set = ["PROJECT_ID", "API_KEY", "BUNDLE_ID"]

  private func read(_ content: some Sequence<UInt8>) throws -> [String: PropertyListEntries.Entry] {
    try PropertyListEntries.read(Self.names, from: Data(content))
  }

  private func xml(_ body: String) -> [UInt8] {
    Array("<?xml version=\"1.0\" encoding=\"UTF-8\"?>\n<plist version=\"1.0\">\(body)</plist>\n".utf8)
  }

  private func fault(_ content: some Sequence<UInt8>) -> String? {
    do {
      _ = try PropertyListEntries.read(Self.names, from: Data(content))
      return nil
    } catch {
      return error.message
    }
  }

  @Test(
    "what Foundation writes is read, in both forms",
    arguments: [PropertyListSerialization.PropertyListFormat.xml, .binary],
    ["plain", "", "<&>\"'", "Ren\u{e9} \u{1F680}", String(repeating: "long ", count: 100)])
  func written(format: PropertyListSerialization.PropertyListFormat, text: String) throws {
    var list: [String: Any] = [
      "PROJECT_ID": text, "API_KEY": ["nested": ["PROJECT_ID": "not this one"]], "IS_ADS_ENABLED": false, "PLIST": 1.5,
      "Data": Data([1, 2, 3]), "Date": Date(timeIntervalSince1970: 0),
    ]
    // More entries than fit the short form of a count.
    for index in 0..<300 { list["KEY_\(index)"] = "value" }
    let content = try PropertyListSerialization.data(fromPropertyList: list, format: format, options: 0)
    #expect(PropertyListEntries.isPropertyList(content))
    #expect(try read(content) == ["PROJECT_ID": .text(text), "API_KEY": .other])
  }

  @Test("XML is read with comments, character data, entities, a document type and a byte order mark")
  func xmlForms() throws {
    let text = """
      \u{feff}<?xml version='1.0'?><!DOCTYPE plist PUBLIC "-//Apple//DTD PLIST 1.0//EN" "http://www.apple.com/DTDs/p.dtd">
      <!-- <plist> --><plist><dict><!-- > --><key>PROJECT<!-- x -->_ID</key>
      <string a='>'>a&amp;b&#65;&#x42;<![CDATA[<&amp;>]]></string ><key>skipped</key>
      <array>text<dict/><![CDATA[</array>]]><!-- </array> --></array><key>BUNDLE_ID</key><string/></dict></plist>
      """
    #expect(try read(text.utf8) == ["PROJECT_ID": .text("a&bAB<&amp;>"), "BUNDLE_ID": .text("")])
    #expect(try read(xml("<dict/>")) == [:])
  }

  @Test(
    "XML that is none is refused with the reason and the place",
    arguments: [
      ("<plist><dict><key>PROJECT_ID</key><string>&lol;</string></dict></plist>", "unknown entity \"&lol;\""),
      ("<plist><dict><key>PROJECT_ID</key><string>&#xD800;</string></dict></plist>", "unknown entity \"&#xD800;\""),
      ("<plist><dict><key>PROJECT_ID</key><string>& </string></dict></plist>", "begins no entity"),
      ("<!DOCTYPE p [<!ENTITY lol \"lol\">]><plist/>", "declares entities of its own"),
      ("<plist><array/></plist>", "no dictionary at the top"), ("<html/>", "does not begin with <plist>"),
      ("<plist><dict><string>x</string></dict></plist>", "another element in place of a key"),
      ("<plist><dict><key>PROJECT_ID</key></dict></plist>", "a key without a value"),
      ("<plist><dict><key>PROJECT_ID</key><string>a<b/></string></dict></plist>", "an element inside of <string>"),
      ("<plist><dict>text</dict></plist>", "text between its elements"), ("<plist><dict><></dict>", "without a name"),
      ("<plist><dict><key>PROJECT_ID</key><string>x</string>", "cut off"), ("<plist><!-- ", "cut off"),
      ("<", "without"),
      (
        "<plist><dict><key>API_KEY</key><string/><key>API_KEY</key><string/></dict></plist>",
        "the key \"API_KEY\" twice"
      ),
      (
        "<plist><dict><key>API_KEY</key><string>\(String(repeating: "x", count: 5000))</string></dict></plist>",
        "more than 4096 bytes"
      ),
    ])
  func wrongXML(text: String, expected: String) {
    #expect(fault(text.utf8)?.contains(expected) == true, "\(fault(text.utf8) ?? "no fault")")
  }

  @Test("text that is not UTF-8 is refused")
  func notUTF8() {
    let (start, end) = ("<plist><dict><key>API_KEY</key><string>".utf8, "</string></dict></plist>".utf8)
    #expect(fault(Array(start) + [0xff, 0xfe] + Array(end))?.contains("not UTF-8") == true)
  }

  @Test("nesting of any depth is passed over", .heavyWork)
  func deepXML() throws {
    let depth = 60_000
    let nested = String(repeating: "<array>", count: depth) + String(repeating: "</array>", count: depth)
    let list = xml("<dict><key>x</key>\(nested)<key>PROJECT_ID</key><string>p</string></dict>")
    #expect(try read(list) == ["PROJECT_ID": .text("p")])
    #expect(fault(xml("<dict><key>x</key>" + String(repeating: "<array>", count: depth))) != nil)
  }

  /// A binary list of objects whose references and offsets have two bytes.
  private func binary(_ objects: [[UInt8]], top: UInt8 = 0) -> [UInt8] {
    var bytes = Array("bplist00".utf8)
    var table: [UInt8] = []
    for object in objects {
      table += [UInt8(bytes.count >> 8), UInt8(bytes.count & 255)]
      bytes += object
    }
    let count = objects.count
    let start = bytes.count
    return bytes + table + [0, 0, 0, 0, 0, 0, 2, 1] + [0, 0, 0, 0, 0, 0, UInt8(count >> 8), UInt8(count & 255)]
      + [0, 0, 0, 0, 0, 0, 0, top] + [0, 0, 0, 0, 0, 0, UInt8(start >> 8), UInt8(start & 255)]
  }

  private func ascii(_ text: String) -> [UInt8] { [0x50 | UInt8(text.utf8.count)] + Array(text.utf8) }

  @Test("containers that refer to themselves and to each other many times over are passed over at once")
  func hostileBinary() throws {
    // Each array holds the next one fifteen times: 15 to the power of 60 paths. The last one holds the first.
    let arrays = (3..<63).map { [0xaf, 0x10, 15] + [UInt8](repeating: $0 == 62 ? 3 : UInt8($0) + 1, count: 15) }
    let objects: [[UInt8]] =
      [[0xd3, 1, 2, 3, 4, 4, 0]] + [ascii("PROJECT_ID"), ascii("BUNDLE_ID"), ascii("API_KEY"), arrays[0]] + arrays
    let entries = try read(binary(objects))
    #expect(entries == ["PROJECT_ID": .other, "BUNDLE_ID": .other, "API_KEY": .other])
    #expect(fault(binary([arrays[0]] + objects))?.contains("no dictionary at the top") == true)
  }

  @Test("a dictionary that names one long text sixteen thousand times is read at once")
  func sharedTexts() throws {
    let long: [UInt8] = [0x5f, 0x11, 0x5f, 0xff] + [UInt8](repeating: 0x61, count: 0x5fff)
    let dictionary: [UInt8] = [0xdf, 0x11, 0x3f, 0xff] + [UInt8](repeating: 1, count: 2 * 0x3fff)
    #expect(try read(binary([dictionary, long])) == [:])
    #expect(try read(binary([[0xd1, 1, 2], ascii("API_KEY"), ascii("k")])) == ["API_KEY": .text("k")])
    let twice = binary([[0xd2, 1, 1, 2, 2], ascii("API_KEY"), ascii("k")])
    #expect(fault(twice)?.contains("the key \"API_KEY\" twice") == true)
    let tooLong = binary([[0xd1, 1, 2], ascii("API_KEY"), [0x5f, 0x11, 0x20, 0x00] + long.suffix(0x2000)])
    #expect(fault(tooLong)?.contains("more than 4096 bytes") == true)
  }

  @Test("references, offsets and counts that lead outside are faults", arguments: 0..<12)
  func wrongBinary(variant: Int) {
    let good = binary([[0xd1, 1, 2], ascii("API_KEY"), ascii("k")])
    let trailer = good.count - 32
    let variants: [[UInt8]] = [
      binary([[0xd1, 9, 2], ascii("API_KEY"), ascii("k")]), binary([[0xd1, 1, 9], ascii("API_KEY"), ascii("k")]),
      binary([[0xde, 1, 2], ascii("API_KEY"), ascii("k")]), binary([[0xd1, 1, 2], ascii("API_KEY"), [0x5e, 0x61]]),
      binary([[0xd1, 1, 2], ascii("API_KEY"), [0x5f, 0x13] + [UInt8](repeating: 0xff, count: 8)]),
      binary([[0xd1, 1, 2], ascii("API_KEY"), [0x5f, 0x13, 0x7f] + [UInt8](repeating: 0xff, count: 7)]),
      binary([[0xdf, 0x13, 0x7f] + [UInt8](repeating: 0xff, count: 7)]), binary([[0xdf, 0x14, 1]]),
      binary([[0xd1, 1, 2], ascii("API_KEY"), ascii("k")], top: 3), Array("bplist00".utf8),
      good[..<trailer] + [UInt8](repeating: 0, count: 32), good[..<trailer] + [UInt8](repeating: 0xff, count: 32),
    ]
    #expect(fault(variants[variant]) != nil)
  }

  @Test("damaged lists are read or refused, never more", .heavyWork, arguments: 1...4)
  func damaged(seed: UInt64) throws {
    let list: [String: Any] = [
      "PROJECT_ID": "p", "API_KEY": "Ren\u{e9}", "nested": ["a": [1, 2, ["b": true]]], "BUNDLE_ID": "com.example",
    ]
    var generator = SeededGenerator(seed: seed)
    for format in [PropertyListSerialization.PropertyListFormat.xml, .binary] {
      let content = try PropertyListSerialization.data(fromPropertyList: list, format: format, options: 0)
      for end in content.indices { _ = fault(content[..<end]) }
      for _ in 0..<2000 {
        var damaged = [UInt8](content)
        for _ in 0..<Int.random(in: 1...4, using: &generator) {
          damaged[Int.random(in: 0..<damaged.count, using: &generator)] = .random(in: 0...255, using: &generator)
        }
        _ = fault(damaged)
      }
    }
  }

  @Test("a property list that is wrong is reported with its file's name")
  func reported() throws {
    let folder = try TemporaryFolder()
    let path = folder.url.appendingPathComponent("GoogleService-Info.plist").path
    try Data(xml("<dict><key>PROJECT_ID</key><string>&lol;</string></dict>")).write(to: URL(fileURLWithPath: path))
    let search = ConfigurationSearch(folders: [folder.url.path], environment: [:])
    let fault = try #require(search.options().fault)
    #expect(fault.hasPrefix("Configuration file \"\(path)\": the property list has the unknown entity \"&lol;\""))
    #expect(FirebaseOptions(contentsOfFile: path) == nil)
  }

  @Test("a binary GoogleService-Info.plist gives the options")
  func binaryOptions() throws {
    let folder = try TemporaryFolder()
    let url = folder.url.appendingPathComponent("GoogleService-Info.plist")
    let list: [String: Any] = ["PROJECT_ID": "from-binary", "GOOGLE_APP_ID": "1:2:ios:3", "IS_ADS_ENABLED": false]
    try PropertyListSerialization.data(fromPropertyList: list, format: .binary, options: 0).write(to: url)
    let options = try #require(FirebaseOptions(contentsOfFile: url.path))
    #expect(options.projectID == "from-binary")
    #expect(options.googleAppID == "1:2:ios:3")
    #expect(options.gcmSenderID.isEmpty && options.apiKey == nil)
  }
}
