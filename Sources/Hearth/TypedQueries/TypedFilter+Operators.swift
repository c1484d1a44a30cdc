internal import HearthModel

// Swift has no operators on instances, so those on key paths are global. Only a `TypedFilter` as the wanted result selects them.

/// A condition of a ``TypedQuery``: the property is equal to the value. Nil means null: it matches a null field, not a missing one.
public func == <Model: QueryableModel, Value: Encodable & Equatable>(
  property: KeyPath<Model, Value>, value: Value
) -> TypedFilter<Model> {
  .make(property, .equal, value)
}

/// A condition of a ``TypedQuery``: the property exists, is not null, and is not equal to the value.
public func != <Model: QueryableModel, Value: Encodable & Equatable>(
  property: KeyPath<Model, Value>, value: Value
) -> TypedFilter<Model> {
  .make(property, .notEqual, value)
}

/// A condition of a ``TypedQuery``: the property is less than the value.
public func < <Model: QueryableModel, Value: Encodable & Comparable>(
  property: KeyPath<Model, Value>, value: Value
) -> TypedFilter<Model> {
  .make(property, .lessThan, value)
}

/// A condition of a ``TypedQuery``: the property is not nil and is less than the value.
public func < <Model: QueryableModel, Value: Encodable & Comparable>(
  property: KeyPath<Model, Value?>, value: Value
) -> TypedFilter<Model> {
  .make(property, .lessThan, value)
}

/// A condition of a ``TypedQuery``: the property is less than or equal to the value.
public func <= <Model: QueryableModel, Value: Encodable & Comparable>(
  property: KeyPath<Model, Value>, value: Value
) -> TypedFilter<Model> {
  .make(property, .lessThanOrEqual, value)
}

/// A condition of a ``TypedQuery``: the property is not nil and is less than or equal to the value.
public func <= <Model: QueryableModel, Value: Encodable & Comparable>(
  property: KeyPath<Model, Value?>, value: Value
) -> TypedFilter<Model> {
  .make(property, .lessThanOrEqual, value)
}

/// A condition of a ``TypedQuery``: the property is greater than the value.
public func > <Model: QueryableModel, Value: Encodable & Comparable>(
  property: KeyPath<Model, Value>, value: Value
) -> TypedFilter<Model> {
  .make(property, .greaterThan, value)
}

/// A condition of a ``TypedQuery``: the property is not nil and is greater than the value.
public func > <Model: QueryableModel, Value: Encodable & Comparable>(
  property: KeyPath<Model, Value?>, value: Value
) -> TypedFilter<Model> {
  .make(property, .greaterThan, value)
}

/// A condition of a ``TypedQuery``: the property is greater than or equal to the value.
public func >= <Model: QueryableModel, Value: Encodable & Comparable>(
  property: KeyPath<Model, Value>, value: Value
) -> TypedFilter<Model> {
  .make(property, .greaterThanOrEqual, value)
}

/// A condition of a ``TypedQuery``: the property is not nil and is greater than or equal to the value.
public func >= <Model: QueryableModel, Value: Encodable & Comparable>(
  property: KeyPath<Model, Value?>, value: Value
) -> TypedFilter<Model> {
  .make(property, .greaterThanOrEqual, value)
}
