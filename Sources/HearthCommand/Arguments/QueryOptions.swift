import ArgumentParser
import HearthData

/// The words of a query. All subcommands of `hearth data` and `hearth cache` that take one have the same.
struct QueryOptions: ParsableArguments {
  @Argument(help: "The path of a collection, or with --collection-group the id of a collection group.")
  var collection: String

  @Flag(
    name: [.customLong("collection-group"), .customLong("group")],
    help: "Ask all collections with this id.")
  var collectionGroup = false

  @Option(
    name: .customLong("where"),
    help: ArgumentHelp(
      "A condition such as 'population >= 1000000'; may be repeated, and all must hold.",
      discussion: """
        Operators: == != < <= > >= array-contains array-contains-any in not-in. The value is JSON, as \
        `hearth data --help` shows it; what is not JSON is a text. __name__ is the id or the path of the document.
        """))
  var conditions: [String] = []

  @Option(
    name: [.customLong("order-by"), .customLong("order")], parsing: .unconditionalSingleValue,
    help: "A field, FIELD:desc or 'FIELD desc'; may be repeated.")
  var orders: [String] = []

  @Option(parsing: .unconditional, help: "No more documents than this.")
  var limit: Int?

  @Option(
    parsing: .unconditional,
    help: """
      Begin at this value of the first order, such as 860000 or CA, or at a list with a value for each order, such as '["CA", 860000]'. \
      Without --order-by it is the id of a document.
      """)
  var startAt: String?

  @Option(parsing: .unconditional, help: "Begin after this position, in the forms of --start-at.")
  var startAfter: String?

  @Option(parsing: .unconditional, help: "End at this position, in the forms of --start-at.")
  var endAt: String?

  @Option(parsing: .unconditional, help: "End before this position, in the forms of --start-at.")
  var endBefore: String?

  var words: DataQuery {
    var query = DataQuery(collection: collection)
    query.isCollectionGroup = collectionGroup
    query.conditions = conditions
    query.orders = orders
    query.limit = limit
    query.startAt = startAt
    query.startAfter = startAfter
    query.endAt = endAt
    query.endBefore = endBefore
    return query
  }
}
