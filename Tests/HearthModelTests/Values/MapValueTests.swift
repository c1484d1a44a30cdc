import Testing

@testable import HearthModel

@Suite("Maps")
struct MapValueTests {
  @Test("entries are kept in UTF-8 order, the last of equal keys counts")
  func entries() {
    let map = MapValue(entries: [("b", 1), ("\u{10000}", 2), ("\u{FFFF}", 3), ("a", 4), ("b", 5)])
    #expect(map.keys == ["a", "b", "\u{FFFF}", "\u{10000}"])
    #expect(map["b"] == 5)
    #expect(map == MapValue(["a": 4, "b": 5, "\u{FFFF}": 3, "\u{10000}": 2]))
  }

  @Test("keys are set, replaced and removed by subscript")
  func subscripts() {
    var map: MapValue = [:]
    for key in ["d", "b", "a", "c", "b"] { map[key] = .string(key) }
    map["a"] = nil
    map["x"] = nil
    map["d"] = 4
    #expect(map == ["b": "b", "c": "c", "d": 4])
    #expect(map["a"] == nil)
    #expect(map.count == 3)
  }

  @Test("a path reads through maps only")
  func reading() throws {
    let map: MapValue = ["a": ["b": ["c": 1]], "s": "text", "v": .vector([1])]
    #expect(map[try FieldPath(["a", "b", "c"])] == 1)
    #expect(map[try FieldPath(["a", "b"])] == ["c": 1])
    #expect(map[try FieldPath(["a", "x", "c"])] == nil)
    #expect(map[try FieldPath(["s", "b"])] == nil)
  }

  @Test("setting a path makes the maps on the way, and replaces what is none")
  func setting() throws {
    var map: MapValue = ["a": 1, "k": ["x": 1]]
    map.set(2, at: try FieldPath(["a", "b", "c"]))
    map.set(3, at: try FieldPath(["k", "y"]))
    map.set(4, at: try FieldPath(["n"]))
    #expect(map == ["a": ["b": ["c": 2]], "k": ["x": 1, "y": 3], "n": 4])
  }

  @Test("removing a path leaves the maps on the way, and does nothing where there is none")
  func removing() throws {
    var map: MapValue = ["a": ["b": 1], "c": 2]
    map.remove(at: try FieldPath(["a", "b"]))
    map.remove(at: try FieldPath(["c", "d"]))
    map.remove(at: try FieldPath(["x", "y"]))
    #expect(map == ["a": [:], "c": 2])
  }
}
