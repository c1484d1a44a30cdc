internal import Foundation
internal import HearthModel
internal import HearthRPC
internal import Logging

/// The file `firestore.indexes.json`, which declares the indexes of all databases of a server.
struct IndexFile: Sendable {
  let path: String

  struct Contents: Sendable {
    /// The indexes that databases keep.
    var definitions: [IndexDefinition] = []
    /// The indexes that production would create from the file.
    var declared = DeclaredIndexes()
    /// The members of the file that have no effect.
    var unknownMembers: [String] = []
    /// The places of the indexes that serve no query.
    var searchIndexes: [String] = []
  }

  private static let members: Set<String> = ["indexes", "fieldOverrides"]

  /// - Throws: `ServerError` with the place in the file that is wrong.
  func read() throws(ServerError) -> Contents {
    let bytes: [UInt8]
    do {
      bytes = [UInt8](try BoundedFile(path: path, maximumBytes: IndexConfiguration.maximumJSONBytes).contents())
    } catch {
      throw ServerError(.indexes, "The index file \"\(path)\" \(error).")
    }
    do {
      let text = try IndexFileText(bytes)
      let configuration = try IndexConfiguration(text.json)
      return Contents(
        definitions: try configuration.definitions(withScopes: true), declared: try DeclaredIndexes(text),
        unknownMembers: try unknownMembers(of: text.json), searchIndexes: text.searchIndexes)
    } catch let error as ServerError {
      throw error
    } catch {
      throw ServerError(.indexes, "Index file \"\(path)\": \(error) \(Self.form)")
    }
  }

  /// The form of the file, for errors.
  private static let form =
    "The file has the form of firestore.indexes.json: {\"indexes\": [{\"collectionGroup\": \"cities\", \"queryScope\": \"COLLECTION\", "
    + "\"fields\": [{\"fieldPath\": \"state\", \"order\": \"ASCENDING\"}, {\"fieldPath\": \"population\", \"order\": \"DESCENDING\"}]}]}."

  /// The members of the file that have no effect.
  ///
  /// - Throws: `ServerError` for a file without the member `indexes`. It is another file, and would declare nothing without a word.
  private func unknownMembers(of json: JSONText) throws(ServerError) -> [String] {
    guard case .object(let members) = json else { return [] }
    let names = Set(members.map(\.name))
    guard names.contains("indexes") else {
      let found =
        names.isEmpty ? "none" : names.sorted().prefix(8).map { "\"\($0.prefix(40))\"" }.joined(separator: ", ")
      var advice = ""
      if case .string(let file)? = json.member("firestore")?.member("indexes") {
        advice = " This is a firebase.json, which names the file with the indexes: give \"\(file.prefix(200))\"."
      }
      throw ServerError(
        .indexes,
        "Index file \"\(path)\": the object has no member \"indexes\"; its members: \(found).\(advice) \(Self.form)")
    }
    return names.subtracting(Self.members).sorted()
  }

  /// Logs mistakes that do not prevent the file from being used.
  func log(_ contents: Contents, _ logger: Logger) {
    for member in contents.unknownMembers {
      logger.warning(
        "the index file has a member without effect; the known ones are indexes and fieldOverrides",
        metadata: ["file": .escaped(path), "member": .escaped(member)])
    }
    for place in contents.searchIndexes {
      logger.warning(
        "the index file has an index with a searchConfig, which serves no query here",
        metadata: ["file": .escaped(path), "index": .escaped(place)])
    }
  }

  var stamp: BoundedFile.Stamp { BoundedFile(path: path).stamp }

  /// Declares the indexes again whenever the file has changed, until the task is cancelled. A file that is wrong or gone changes nothing.
  ///
  /// - Parameter stamp: From before the file was read.
  func watch(_ databases: any Databases, since stamp: BoundedFile.Stamp, every interval: Duration, logger: Logger) async
  {
    var seen = stamp
    while (try? await Task.sleep(for: interval)) != nil {
      let present = self.stamp
      guard present != seen else { continue }
      seen = present
      do {
        let contents = try read()
        log(contents, logger)
        await databases.declare(contents)
        logger.info(
          "declared indexes were read again",
          metadata: [
            "indexes": "\(contents.definitions.count)", "overrides": "\(contents.declared.overrides.count)",
          ])
      } catch {
        logger.error("declared indexes stay as they are", metadata: ["error": .escaped("\(error)")])
      }
    }
  }
}
