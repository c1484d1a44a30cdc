import Testing

/// The statements of the Firestore documentation about access to data offline, each with the section of our articles whose program
/// answers it.
@Suite("The articles on working offline")
struct OfflineStatementsTests {
  struct Answer: CustomTestStringConvertible, Sendable {
    let statement: String
    let article: String
    let section: String

    init(_ statement: String, _ article: String, _ section: String) {
      (self.statement, self.article, self.section) = (statement, article, section)
    }

    var testDescription: String { statement }
  }

  private static let offline = "Offline"
  private static let cache = "OfflineCache"
  private static let queries = "OfflineQueries"

  static let answers = [
    Answer("a copy of the data that the app uses is kept for use offline", offline, "What is kept"),
    Answer("offline an app writes, reads, listens and queries", offline, "Read, write, query and listen"),
    Answer("local changes are sent by themselves when the network is back", offline, "Wait for the backend, or go on"),
    Answer("code that reads and writes need not be changed", offline, "One program for both"),
    Answer("persistence is switched when the client is set up", cache, "Choose once, before the first use"),
    Answer("on devices it is on by default", cache, "On disk from the start"),
    Answer("on devices it can be switched off", cache, "Choose once, before the first use"),
    Answer("on the Web it is off by default and enabled explicitly", cache, "Ask whether it can be kept"),
    Answer(
      "the cache is not emptied between sessions, so the device has to be trusted", cache, "A device that others use"),
    Answer("watchOS and App Clips have no such product", cache, "On disk from the start"),
    Answer("every received document is cached, and old unused ones are cleaned up", cache, "Size and clean-up"),
    Answer("the threshold can be changed, and the clean-up switched off", cache, "Size and clean-up"),
    Answer("the threshold is 100 MB by default and at least 1 MB", cache, "Size and clean-up"),
    Answer("listeners hear of changes in the cache, offline too", offline, "Listen without a network"),
    Answer("documents, collections and queries can be listened to", offline, "Documents, collections and queries"),
    Answer("the metadata tell the cache from the server", offline, "Cache or backend"),
    Answer("changes of metadata alone are told only when asked for", offline, "Changes of metadata"),
    Answer("getting a document offline returns cached data", offline, "What the device knows"),
    Answer("a query with nothing cached has an empty result", offline, "What the device knows"),
    Answer("a document that is not cached is an error", offline, "What the device knows"),
    Answer("new queries can be made offline and see cached documents first", queries, "What a query finds"),
    Answer("offline queries scan all cached documents of the collection", queries, "What a query costs"),
    Answer("with a cache on disk, indexes can be made automatically", queries, "Indexes by themselves"),
    Answer("automatic indexes are off by default and enabled at every start", queries, "Indexes by themselves"),
    Answer("the client judges which queries get an index", queries, "Indexes by themselves"),
    Answer("indexes can be deleted", queries, "Delete them"),
    Answer("indexes are configured with the JSON of the command-line tool", queries, "Declare them"),
    Answer("which indexes are useful depends on what is asked offline", queries, "Which indexes"),
    Answer("a configuration is compiled in, downloaded or hosted", queries, "Ship the configuration"),
    Answer(
      "with the network disabled the cache answers and writes are queued", offline, "Switch the network off and on"),
    Answer("the network can be enabled again", offline, "Switch the network off and on"),
  ]

  @Test("every statement of the documentation is answered by a program", arguments: answers)
  func answered(_ answer: Answer) throws {
    let blocks = try Article(answer.article).blocks
    #expect(blocks.contains { $0.section == answer.section && $0.language == "swift" })
  }
}
