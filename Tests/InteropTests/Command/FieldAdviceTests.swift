import Foundation
import TestSupport
import Testing

@Suite("What hearth data says of fields that documents do not have, and of paths with spaces", .timeLimit(.minutes(5)))
struct FieldAdviceTests {
  private func withTowns(_ body: (DataPlace) async throws -> Void) async throws {
    try await DataPlace.run { place in
      try await place.set("t/1", #"{"name": "a", "size": 3, "note": "x"}"#)
      try await place.set("t/2", #"{"name": "b", "size": "large", "note": "y"}"#)
      try await body(place)
    }
  }

  @Test("--select names a field that no document of the answer has, and the nearest one")
  func select() async throws {
    try await withTowns { place in
      for format in ["json", "table"] {
        let found = try await place.hearth("query", "t", "--select", "name,nam,__name__", "--format", format)
        #expect(
          found.status == 0
            && found.text.contains(
              "hearth data: --select: None of the documents has a field nam. Did you mean name? Write 'name'.\n"),
          "\(found.text)")
        #expect(found.text.components(separatedBy: "--select").count == 2, "\(found.text)")
      }
      let right = try await place.hearth("query", "t", "--select", "name,size")
      #expect(right.status == 0 && !right.text.contains("hearth data:"), "\(right.text)")
    }
  }

  @Test("--sum and --average say how many of the counted documents have a number")
  func numbers() async throws {
    try await withTowns { place in
      for option in ["--sum", "--average"] {
        let some = try await place.hearth("count", "t", option, "size")
        #expect(
          some.status == 0
            && some.text.contains("hearth data: 1 of the 2 documents has a number in size; the others add nothing.\n"),
          "\(some.text)")
        let none = try await place.hearth("count", "t", option, "note")
        #expect(
          none.status == 0 && none.text.contains("hearth data: None of the 2 documents has a number in note.\n"),
          "\(none.text)")
        let all = try await place.hearth("count", "t", "--where", "name == a", option, "size")
        #expect(all.status == 0 && !all.text.contains("hearth data:"), "\(all.text)")
      }
    }
  }

  @Test("a path with spaces is shown so that it can be pasted")
  func spaces() async throws {
    try await DataPlace.run { place in
      let written = try await place.hearth("set", "my cities/San Francisco", "--json", "{}", "--format", "table")
      #expect(written.text.hasPrefix("Document 'my cities/San Francisco' is written"), "\(written.text)")
      let shown = try await place.hearth("get", "my cities/San Francisco", "--format", "table")
      #expect(shown.status == 0 && shown.text.contains("'my cities/San Francisco'\n"), "\(shown.text)")
      let found = try await place.hearth("query", "my cities", "--format", "table")
      #expect(found.text.contains("\n'my cities/San Francisco'\n"), "\(found.text)")
      let listed = try await place.hearth("collections", "--format", "table")
      #expect(listed.text.contains("\n'my cities'\n"), "\(listed.text)")
      let watched = try await place.hearth("watch", "my cities", "--once", "--format", "table")
      #expect(watched.text.hasPrefix("+ 'my cities/San Francisco'  {"), "\(watched.text)")
      let deleted = try await place.hearth("delete", "my cities/San Francisco", "--format", "table")
      #expect(deleted.text.hasPrefix("Document 'my cities/San Francisco' is deleted"), "\(deleted.text)")
    }
  }

  @Test("a token that is none says what one looks like and where it comes from")
  func token() async throws {
    try await DataPlace.run { place in
      let output = try await place.hearth("get", "a/b", "--token", "secret")
      #expect(
        output.status == 1 && output.text.contains("invalid jwt.")
          && output.text.contains("three parts with full stops")
          && output.text.contains("Firebase Auth (getIDToken)") && !output.text.contains("secret"), "\(output.text)")
    }
  }
}
