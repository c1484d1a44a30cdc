package import HearthModel

/// Field numbers of a stored target and the messages in it.
private enum TargetField {
  static let path = 1
  static let collectionGroup = 2
  static let filter = 3
  static let order = 4
  static let limit = 5
  static let startAt = 6
  static let endAt = 7

  static let fieldFilter = 1
  static let compositeFilter = 2
  static let filterPath = 1
  static let filterOperator = 2
  static let filterValue = 3
  static let compositeOperator = 1
  static let compositeMember = 2

  static let orderPath = 1
  static let orderIsDescending = 2

  static let boundValue = 1
  static let boundIsInclusive = 2
}

/// Composite filters nest at most this deep, so that a damaged file cannot exhaust the stack.
private let maximumFilterDepth = 100

extension CacheCodec {
  package static func encode(target: Target, database: DatabaseID) -> [UInt8] {
    var writer = WireWriter()
    writer.writeString(database.name(of: target.path), field: TargetField.path)
    if let collectionGroup = target.collectionGroup {
      writer.writeString(collectionGroup, field: TargetField.collectionGroup)
    }
    for filter in target.filters {
      writer.writeMessage(field: TargetField.filter) { write(filter, to: &$0) }
    }
    for order in target.orders {
      writer.writeMessage(field: TargetField.order) { writer in
        writer.writeString(order.path.canonicalString, field: TargetField.orderPath)
        writer.writeVarint(order.direction == .descending ? 1 : 0, field: TargetField.orderIsDescending)
      }
    }
    if let limit = target.limit {
      writer.writeVarint(Int64(limit), field: TargetField.limit)
    }
    if let startAt = target.startAt {
      write(startAt, field: TargetField.startAt, to: &writer)
    }
    if let endAt = target.endAt {
      write(endAt, field: TargetField.endAt, to: &writer)
    }
    return writer.bytes
  }

  private static func write(_ filter: Filter, to writer: inout WireWriter) {
    switch filter {
    case .field(let filter):
      writer.writeMessage(field: TargetField.fieldFilter) { writer in
        writer.writeString(filter.path.canonicalString, field: TargetField.filterPath)
        writer.writeVarint(filter.op.storedNumber, field: TargetField.filterOperator)
        writer.writeBytes(filter.value.encoded(), field: TargetField.filterValue)
      }
    case .composite(let composite):
      writer.writeMessage(field: TargetField.compositeFilter) { writer in
        writer.writeVarint(composite.op == .and ? 1 : 2, field: TargetField.compositeOperator)
        for member in composite.filters {
          writer.writeMessage(field: TargetField.compositeMember) { write(member, to: &$0) }
        }
      }
    }
  }

  private static func write(_ bound: Bound, field: Int, to writer: inout WireWriter) {
    writer.writeMessage(field: field) { writer in
      for value in bound.position {
        writer.writeBytes(value.encoded(), field: TargetField.boundValue)
      }
      writer.writeVarint(bound.isInclusive ? 1 : 0, field: TargetField.boundIsInclusive)
    }
  }

  /// - Throws: a ``WireError`` that names the place when the bytes are not a target of this database.
  package static func decodeTarget(_ bytes: [UInt8], database: DatabaseID) throws(WireError) -> Target {
    try at("stored target") {
      try bytes.withUnsafeBytes { try target(in: WireReader($0), database: database) }
    }
  }

  private static func target(in message: WireReader, database: DatabaseID) throws -> Target {
    var reader = message
    var path: ResourcePath?
    var target = Target(path: ResourcePath())
    while let tag = try reader.readTag("target") {
      switch tag.field {
      case TargetField.path:
        try reader.require(.lengthDelimited, tag, "path")
        path = try database.path(fromName: try reader.readString("path"))
      case TargetField.collectionGroup:
        try reader.require(.lengthDelimited, tag, "collection_group")
        target.collectionGroup = try reader.readString("collection_group")
      case TargetField.filter:
        try reader.require(.lengthDelimited, tag, "filters")
        target.filters.append(try filter(in: try reader.readMessage("filters"), depth: 0))
      case TargetField.order:
        try reader.require(.lengthDelimited, tag, "orders")
        target.orders.append(try order(in: try reader.readMessage("orders")))
      case TargetField.limit:
        try reader.require(.varint, tag, "limit")
        guard let limit = Int(exactly: Int64(bitPattern: try reader.readVarint("limit"))), limit >= 0 else {
          throw message.error("the limit is negative or too large", "limit")
        }
        target.limit = limit
      case TargetField.startAt:
        try reader.require(.lengthDelimited, tag, "start_at")
        target.startAt = try bound(in: try reader.readMessage("start_at"))
      case TargetField.endAt:
        try reader.require(.lengthDelimited, tag, "end_at")
        target.endAt = try bound(in: try reader.readMessage("end_at"))
      default:
        try reader.skip(tag, "target")
      }
    }
    guard let path else { throw message.error("the path is missing", "path") }
    target.path = path
    return target
  }

  private static func filter(in message: WireReader, depth: Int) throws -> Filter {
    guard depth < maximumFilterDepth else {
      throw message.error("filters are nested more than \(maximumFilterDepth) levels deep", "filter")
    }
    var reader = message
    var filter: Filter?
    while let tag = try reader.readTag("filter") {
      switch tag.field {
      case TargetField.fieldFilter:
        try reader.require(.lengthDelimited, tag, "field_filter")
        filter = .field(try fieldFilter(in: try reader.readMessage("field_filter")))
      case TargetField.compositeFilter:
        try reader.require(.lengthDelimited, tag, "composite_filter")
        filter = .composite(try compositeFilter(in: try reader.readMessage("composite_filter"), depth: depth))
      default:
        try reader.skip(tag, "filter")
      }
    }
    guard let filter else { throw message.error("the filter is empty", "filter") }
    return filter
  }

  private static func fieldFilter(in message: WireReader) throws -> FieldFilter {
    var reader = message
    var path: FieldPath?
    var op: FieldFilter.Operator?
    var operand: Value?
    while let tag = try reader.readTag("field_filter") {
      switch tag.field {
      case TargetField.filterPath:
        path = try fieldPath(tag, &reader)
      case TargetField.filterOperator:
        try reader.require(.varint, tag, "operator")
        op = FieldFilter.Operator(storedNumber: Int64(bitPattern: try reader.readVarint("operator")))
      case TargetField.filterValue:
        operand = try value(tag, &reader, "value")
      default:
        try reader.skip(tag, "field_filter")
      }
    }
    guard let path, let op, let operand else {
      throw message.error("the path, a known operator or the value is missing", "field_filter")
    }
    return FieldFilter(path: path, op: op, value: operand)
  }

  private static func compositeFilter(in message: WireReader, depth: Int) throws -> CompositeFilter {
    var reader = message
    var op: CompositeFilter.Operator?
    var members: [Filter] = []
    while let tag = try reader.readTag("composite_filter") {
      switch tag.field {
      case TargetField.compositeOperator:
        try reader.require(.varint, tag, "operator")
        switch try reader.readVarint("operator") {
        case 1: op = .and
        case 2: op = .or
        case let number: throw message.error("\(number) is not an operator (1 is and, 2 is or)", "operator")
        }
      case TargetField.compositeMember:
        try reader.require(.lengthDelimited, tag, "filters")
        members.append(try filter(in: try reader.readMessage("filters"), depth: depth + 1))
      default:
        try reader.skip(tag, "composite_filter")
      }
    }
    guard let op else { throw message.error("the operator is missing", "composite_filter") }
    return CompositeFilter(op: op, filters: members)
  }

  private static func order(in message: WireReader) throws -> OrderBy {
    var reader = message
    var path: FieldPath?
    var direction = OrderBy.Direction.ascending
    while let tag = try reader.readTag("order") {
      switch tag.field {
      case TargetField.orderPath:
        path = try fieldPath(tag, &reader)
      case TargetField.orderIsDescending:
        try reader.require(.varint, tag, "direction")
        direction = try reader.readVarint("direction") == 0 ? .ascending : .descending
      default:
        try reader.skip(tag, "order")
      }
    }
    guard let path else { throw message.error("the field path is missing", "order") }
    return OrderBy(path: path, direction: direction)
  }

  private static func bound(in message: WireReader) throws -> Bound {
    var reader = message
    var bound = Bound(position: [], isInclusive: false)
    while let tag = try reader.readTag("bound") {
      switch tag.field {
      case TargetField.boundValue:
        bound.position.append(try value(tag, &reader, "position"))
      case TargetField.boundIsInclusive:
        try reader.require(.varint, tag, "is_inclusive")
        bound.isInclusive = try reader.readVarint("is_inclusive") != 0
      default:
        try reader.skip(tag, "bound")
      }
    }
    return bound
  }

  private static func fieldPath(_ tag: WireTag, _ reader: inout WireReader) throws -> FieldPath {
    try reader.require(.lengthDelimited, tag, "field_path")
    return try FieldPath(parsingServerFormat: try reader.readString("field_path"))
  }
}

extension FieldFilter.Operator {
  /// The operator's number in stored targets: that of the protocol.
  fileprivate var storedNumber: Int64 {
    switch self {
    case .lessThan: 1
    case .lessThanOrEqual: 2
    case .greaterThan: 3
    case .greaterThanOrEqual: 4
    case .equal: 5
    case .notEqual: 6
    case .arrayContains: 7
    case .in: 8
    case .arrayContainsAny: 9
    case .notIn: 10
    }
  }

  fileprivate init?(storedNumber: Int64) {
    guard let op = Self.allCases.first(where: { $0.storedNumber == storedNumber }) else { return nil }
    self = op
  }
}
