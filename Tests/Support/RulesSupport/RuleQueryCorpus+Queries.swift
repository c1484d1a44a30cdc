import HearthRules

extension RuleQueryCorpus {
  /// Conditions with queries of their own.
  package static let queries: [Query] = [
    Query("1 in resource.data.l", "T", filter: .field(["l"], .arrayContains, .int(1))),
    Query("2 in resource.data.l", "E", filter: .field(["l"], .arrayContains, .int(1))),
    Query("resource.data.l.hasAny([1])", "T", filter: .field(["l"], .arrayContains, .int(1))),
    Query("resource.data.l.hasAny([1,2])", "T", filter: .field(["l"], .arrayContains, .int(1))),
    Query("resource.data.l.hasAll([1])", "E>T", filter: .field(["l"], .arrayContains, .int(1))),
    Query("resource.data.l.hasOnly([1])", "E", filter: .field(["l"], .arrayContains, .int(1))),
    Query("resource.data.l is list", "F>T", filter: .field(["l"], .arrayContains, .int(1))),
    Query("resource.data.l == [1]", "E", filter: .field(["l"], .arrayContains, .int(1))),
    Query("resource.data.l.size() == 1", "E", filter: .field(["l"], .arrayContains, .int(1))),
    Query("resource.data.l[0] == 1", "E", filter: .field(["l"], .arrayContains, .int(1))),
    Query("resource.data.l != null", "T", filter: .field(["l"], .arrayContains, .int(1))),
    Query("request.auth.uid in resource.data.l", "T", filter: .field(["l"], .arrayContains, .string("alice"))),
    Query("request.auth.uid in resource.data.l", "E", filter: .field(["l"], .arrayContains, .string("bob"))),
    Query("request.auth.uid == resource.data.owner", "T", filter: .field(["owner"], .equal, .string("alice"))),
    Query("request.auth.uid == resource.data.owner", "F", filter: .field(["owner"], .equal, .string("bob"))),
    Query("request.auth.uid == resource.data.owner", "E"),
    Query("resource.data.l.hasAny([1,2])", "T", filter: .field(["l"], .arrayContainsAny, .list([.int(1), .int(2)]))),
    Query("resource.data.l.hasAny([1])", "E", filter: .field(["l"], .arrayContainsAny, .list([.int(1), .int(2)]))),
    Query("1 in resource.data.l", "T", filter: .field(["l"], .arrayContainsAny, .list([.int(1)]))),
    Query("resource.data.m.k == 1", "T", filter: .field(["m", "k"], .equal, .int(1))),
    Query("'k' in resource.data.m", "T", filter: .field(["m", "k"], .equal, .int(1))),
    Query("resource.data.m == {'k':1}", "T>E", filter: .field(["m", "k"], .equal, .int(1))),
    Query("resource.data.m.keys() == ['k']", "T>E", filter: .field(["m", "k"], .equal, .int(1))),
    Query("resource.data.m.k > 1", "T", filter: .field(["m", "k"], .greater, .int(1))),
    Query("resource.data.m.z == 1", "E", filter: .field(["m", "k"], .equal, .int(1))),
    Query("resource.data.m is map", "T", filter: .field(["m", "k"], .equal, .int(1))),
    Query("resource.data.a == 1", "E", filter: .or([.field(["a"], .equal, .int(1)), .field(["a"], .equal, .int(2))])),
    Query(
      "resource.data.a == 1 || resource.data.a == 2", "T",
      filter: .or([.field(["a"], .equal, .int(1)), .field(["a"], .equal, .int(2))])),
    Query(
      "resource.data.a in [1,2]", "T", filter: .or([.field(["a"], .equal, .int(1)), .field(["a"], .equal, .int(2))])),
    Query(
      "resource.data.a == 1 || resource.data.b == 2", "T",
      filter: .or([.field(["a"], .equal, .int(1)), .field(["b"], .equal, .int(2))])),
    Query("resource.data.a > 0", "T", filter: .or([.field(["a"], .equal, .int(1)), .field(["a"], .greater, .int(2))])),
    Query(
      "resource.data.a == 1", "T",
      filter: .and([
        .field(["a"], .equal, .int(1)), .or([.field(["b"], .equal, .int(1)), .field(["b"], .equal, .int(2))]),
      ])),
    Query(
      "resource.data.b == 1", "E",
      filter: .and([
        .field(["a"], .equal, .int(1)), .or([.field(["b"], .equal, .int(1)), .field(["b"], .equal, .int(2))]),
      ])),
    Query(
      "resource.data.b in [1,2]", "T",
      filter: .and([
        .field(["a"], .equal, .int(1)), .or([.field(["b"], .equal, .int(1)), .field(["b"], .equal, .int(2))]),
      ])),
    Query("resource.data.a == 1", "T", filter: .and([.field(["a"], .equal, .int(1)), .field(["b"], .equal, .int(2))])),
    Query(
      "resource.data.a == 1 && resource.data.b == 2", "T",
      filter: .and([.field(["a"], .equal, .int(1)), .field(["b"], .equal, .int(2))])),
    Query(
      "resource.data.a == 1", "T", filter: .and([.field(["a"], .equal, .int(1)), .field(["a"], .greater, .int(0))])),
    Query(
      "resource.data.published == true && resource.data.owner == request.auth.uid", "T",
      filter: .and([.field(["published"], .equal, .bool(true)), .field(["owner"], .equal, .string("alice"))])),
    Query(
      "resource.data.published == true || resource.data.owner == request.auth.uid", "T",
      filter: .field(["published"], .equal, .bool(true))),
    Query(
      "resource.data.published == true || resource.data.owner == request.auth.uid", "T",
      filter: .or([.field(["published"], .equal, .bool(true)), .field(["owner"], .equal, .string("alice"))])),
    Query(
      "resource.data.published == true || resource.data.owner == request.auth.uid", "E",
      filter: .or([.field(["published"], .equal, .bool(true)), .field(["owner"], .equal, .string("bob"))])),
    Query("resource.data.published", "T", filter: .field(["published"], .equal, .bool(true))),
    Query("!resource.data.published", "T", filter: .field(["published"], .equal, .bool(false))),
    Query(
      "resource.data.t < request.time", "T",
      filter: .field(["t"], .less, .timestamp(RuleTimestamp(seconds: 1_577_836_800, nanoseconds: 0)))),
    Query(
      "resource.data.t > request.time", "E>F",
      filter: .field(["t"], .less, .timestamp(RuleTimestamp(seconds: 1_577_836_800, nanoseconds: 0)))),
    Query("request.inTransaction", "F"),
    Query("request.query.limit <= 10", "T", limit: 5),
    Query("request.query.limit <= 10", "F", limit: 50),
    Query("request.query.limit == 5", "T", limit: 5),
    Query("request.query.offset == 2", "T", limit: 5, offset: 2),
    Query("request.query.orderBy == {'a':'DESC'}", "T", orders: [RuleQuery.Order(field: "a", isDescending: true)]),
    Query("request.query.orderBy.a == 'ASC'", "T", orders: [RuleQuery.Order(field: "a", isDescending: false)]),
    Query(
      "request.query.orderBy.keys().hasOnly(['a'])", "T", orders: [RuleQuery.Order(field: "a", isDescending: false)]),
    Query("'a' in resource.data", "F>E", orders: [RuleQuery.Order(field: "a", isDescending: false)]),
    Query("resource.data.a != null", "E", orders: [RuleQuery.Order(field: "a", isDescending: false)]),
    Query("resource.data.a.matches('x.*')", "T", filter: .field(["a"], .equal, .string("xy"))),
    Query("resource.data.a[0] == 'x'", "E", filter: .field(["a"], .greaterOrEqual, .string("x"))),
    Query("resource.data.a > b'x'", "E", filter: .field(["a"], .greater, .string("x"))),
    Query("resource.data.a > true", "E", filter: .field(["a"], .greater, .int(1))),
    Query(
      "resource.data.m.k > 1 && resource.data.m.k < 9", "T",
      filter: .and([.field(["m", "k"], .greater, .int(1)), .field(["m", "k"], .less, .int(9))])),
  ]
}
