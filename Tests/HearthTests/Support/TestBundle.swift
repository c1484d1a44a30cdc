import Foundation
import HearthModel

@testable import Hearth

/// Bundles, which put documents into the cache without a backend as if they had come from it.
enum TestBundle {
  /// - Parameter documents: Ids and the JSON of their fields.
  static func of(_ db: Firestore, collection: String, _ documents: [(id: String, fields: String)]) -> Data {
    let root = db.databaseID.documentsName
    var body: [UInt8] = []
    func add(_ element: String) { body += Array("\(element.utf8.count)\(element)".utf8) }
    for (id, fields) in documents {
      let name = "\(root)/\(collection)/\(id)"
      add(#"{"documentMetadata":{"name":"\#(name)","readTime":"2026-01-01T00:00:00Z","exists":true}}"#)
      add(
        #"{"document":{"name":"\#(name)","createTime":"2025-01-01T00:00:00Z","updateTime":"2025-01-01T00:00:00Z","#
          + #""fields":{\#(fields)}}}"#)
    }
    let metadata =
      #"{"metadata":{"id":"\#(collection)","createTime":"2026-01-01T00:00:00Z","version":1,"#
      + #""totalDocuments":\#(documents.count),"totalBytes":\#(body.count)}}"#
    return Data("\(metadata.utf8.count)\(metadata)".utf8) + body
  }

  /// Cities c0, c1, … with one of 50 states in turn, a population of their own and two tags.
  static func cities(_ db: Firestore, count: Int) -> Data {
    of(
      db, collection: "cities",
      (0..<count).map { number in
        (
          "c\(number)",
          #""state":{"stringValue":"\#(state(number))"},"population":{"integerValue":"\#(number * 7919 % 1_000_003)"},"#
            + #""tags":{"arrayValue":{"values":[{"stringValue":"t\#(number % 7)"},{"stringValue":"city"}]}}"#
        )
      })
  }

  static func state(_ number: Int) -> String { number % 50 == 0 ? "CA" : "S\(number % 50)" }
}
