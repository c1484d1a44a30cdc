internal import HearthModel

/// Reads of a stream at its version, which is in the past after the next commit.
///
/// They throw UNAVAILABLE when the stream is so slow that its version is no longer kept: the client reconnects and starts from the beginning.
extension Session {
  /// A piece of a result.
  func watchedPage(
    of query: Query, after cursor: QueryCursor?, at version: SnapshotVersion
  ) async throws(StatusError) -> QueryPage {
    do {
      return try await grantedPage(of: query, after: cursor, at: version)
    } catch {
      throw Self.watchFailure(error)
    }
  }

  /// The first of some documents, found or missing, as many as make a piece.
  func watchedDocuments(
    firstOf keys: ArraySlice<DocumentKey>, at version: SnapshotVersion
  ) async throws(StatusError) -> [Document] {
    do {
      return try await grantedDocuments(firstOf: keys, at: version)
    } catch {
      throw Self.watchFailure(error)
    }
  }

  /// The number of documents in the result of a query without limit.
  func watchedCount(of query: Query, at version: SnapshotVersion) async throws(StatusError) -> Int {
    do {
      return try await count(of: query, at: version)
    } catch {
      throw Self.watchFailure(error)
    }
  }

  static func watchFailure(_ error: StatusError) -> StatusError {
    guard error.code == .failedPrecondition else { return error }
    return StatusError(
      code: .unavailable, message: "The stream has fallen behind the history that the server keeps; listen again.")
  }

  /// Reads the window of a query with a limit again, piece by piece.
  ///
  /// - Parameter known: The window before. Documents that are in it as they are now are not kept.
  /// - Returns: Nil if the window, or what is new in it, is too large to be kept for all streams.
  func refilledWindow(
    of query: Query, at version: SnapshotVersion, knowing known: LimitWindow
  ) async throws(StatusError) -> RefilledWindow? {
    var draft = WindowDraft(query, in: feed.windowMemory)
    var contents: [DocumentKey: Document] = [:]
    var bytes = 0
    var cursor: QueryCursor?
    repeat {
      let page = try await watchedPage(of: query, after: cursor, at: version)
      for document in page.answer.documents {
        draft.add(document)
        guard known.versions[document.key] != document.version else { continue }
        contents[document.key] = document
        bytes += LimitWindow.bytes(of: document)
      }
      guard bytes <= RefilledWindow.maximumContentBytes, draft.hasDocuments else { return nil }
      cursor = page.next
    } while cursor != nil
    return draft.window().map { RefilledWindow(window: $0, contents: contents) }
  }
}
