import HearthRules

extension RuleQueryCorpus {
  /// Conditions of `allow list`. Each is asked with each of ``facts``.
  package static let conditions = #"""
    resource.data.a == 1
    resource.data.a == 2
    resource.data.a != 1
    resource.data.a != 2
    resource.data.a != 'x'
    resource.data.a > 0
    resource.data.a > 5
    resource.data.a >= 5
    resource.data.a < 5
    resource.data.a <= 9
    resource.data.a < 10
    resource.data.a < 'z'
    resource.data.a > 'a'
    0 < resource.data.a
    10 > resource.data.a
    resource.data.a in [1,2]
    resource.data.a in [1,2,3]
    resource.data.a in [3,4]
    !(resource.data.a in [1])
    !(resource.data.a in [1,2])
    resource.data.a is int
    resource.data.a is number
    resource.data.a is string
    resource.data.a is constraint
    resource.data.a != null
    resource.data.a == null
    'a' in resource.data
    !('b' in resource.data)
    'b' in resource.data
    resource.data.b == 1
    resource.data.a + 1 == 2
    resource.data.get('a',5) == 1
    resource.data.get('b',5) == 5
    resource.data.keys().hasAll(['a'])
    resource.data.keys().hasOnly(['a'])
    resource.data.size() == 1
    resource.data == {'a':1}
    resource != null
    resource == null
    resource.data != null
    resource.id == 'x'
    id == 'x'
    id != null
    resource.data.a == resource.data.a
    resource.data.a == 1 || true
    resource.data.b == 1 && false
    resource.data.b == 1 || resource.data.a == 1
    request.query.limit == null
    request.query.limit <= 10
    request.query.offset == 0
    request.query.orderBy == {}
    request.method == 'list'
    request.resource == null
    resource.data.a > 0 ? true : false
    [resource.data.a > 0][0]
    resource.data.a.size() == 1
    resource.data.a == 1.0
    !(resource.data.a == 1)
    !(resource.data.a > 5)
    !(resource.data.a <= 5)
    f(resource.data.a)
    resource.data.a > 1 && resource.data.a < 8
    """#

  /// Filters, with the verdicts for ``conditions`` in their order.
  package static let facts: [Facts] = [
    Facts(
      .field(["a"], .equal, .int(1)),
      emulator: "TFFTTTFFTTTEETTTTFFFTTFFTFTTFETTTTTTTTFTEEETTFTTETTTETTETFTFTF",
      ours: "TFFTTTFFTTTEETTTTFFFTTFFTFTEEETTETEEETFTEEETTFTTETTTETTETFTFTF"),
    Facts(
      .field(["a"], .greater, .int(5)),
      emulator: "EETTETTTEEEEETEFFFTTFFFTTETTFEEETTTTFTFTEEEETFETETTTETTEEEFEEE",
      ours: "FFTTTTTTFEEEETEFFFTTETFFTFTEEEEFETEEETFTEEEETFETETTTETTEFTFTFE"),
    Facts(
      .and([.field(["a"], .greaterOrEqual, .int(1)), .field(["a"], .lessOrEqual, .int(9))]),
      emulator: "EEEEETEEETTEETTFFFTTFFFTTETTFEEETTTTFTFTEEEETFETETTTETTEEEEEEE",
      ours: "EEEETTEEETTEETTEEEEEETFFTFTEEEEEETEEETFTEEEETFETETTTETTEEEEEEE"),
    Facts(
      .field(["a"], .in, .list([.int(1), .int(2)])),
      emulator: "EEEETTFFTTTEETTTTFEFTTFFTFTTFEEETTTTETFTEEETTFETETTTETTEEETFEE",
      ours: "EEEETTFFTTTEETTTTFEFTTFFTFTEEEEEETEEETFTEEETTFETETTTETTEEETFEE"),
    Facts(
      nil,
      emulator: "EEEEEEEEEEEEEEEEEEEEEEEEEEFTFEEFTFTFFTFTEEEETFETETTTEEEEEEEEEE",
      ours: "EEEEEEEEEEEEEEEEEEEEEEEEEEEEEEEEEEEEETFTEEEETFETETTTEEEEEEEEEE"),
    Facts(
      .field(["a"], .notEqual, .int(1)),
      emulator: "EETEEEEEEEEEEEEFFFTTFFFTTETTFEEETTTTFTFTEEEETFETETTTEEEEEEEEEE",
      ours: "FETEEEEEEEEEEEEEEETEEEEETFTEEEEFETEEETFTEEEETFETETTTEEEEFTEEFE"),
    Facts(
      .field(["a"], .less, .string("m")),
      emulator: "EEEETEEEEEETEEEFFFTTFFFTTETTFEEETTTTFTFTEEEETFETETTTEEEEEEEEEE",
      ours: "FFTTTEEEEEETEEEFFFTTFFTFTFTEEEEFETEEETFTEEEETFETETTTEEEEFTEEFE"),
    Facts(
      .field(["a"], .equal, .null),
      emulator: "FFTTTEEEEEEEEEEFFFTTFFFFFTTTFEEFTTTTFTFTEEETTFETETTTEEEEFTEEFE",
      ours: "FFTTTEEEEEEEEEEFFFTTFFFFFTTEEEEFETEEETFTEEETTFETETTTEEEEFTEEFE"),
    Facts(
      .field(["a"], .equal, .float(1.5)),
      emulator: "FFTTTTFFTTTEETTFFFTTFTFFTFTTFEFFTTTTFTFTEEETTFETETTTETTEFTTFFT",
      ours: "FFTTTTFFTTTEETTFFFTTFTFFTFTEEEFFETEEETFTEEETTFETETTTETTEFTTFFT"),
    Facts(
      .field(["a"], .notIn, .list([.int(1), .int(2)])),
      emulator: "EETTEEEEEEEEEEEFFFTTFFFTTETTFEEETTTTFTFTEEEETFETETTTEEEEEEEEEE",
      ours: "FFTTEEEEEEEEEEEFEETTEEEETFTEEEEFETEEETFTEEEETFETETTTEEEEFTEEFE"),
    Facts(
      .field(["a"], .notEqual, .null),
      emulator: "EEEEEEEEEEEEEEEFFFTTFFFTTETTFEEETTTTFTFTEEEETFETETTTEEEEEEEEEE",
      ours: "EEEEEEEEEEEEEEEEEEEEEEEETFTEEEEEETEEETFTEEEETFETETTTEEEEEEEEEE"),
  ]
}
