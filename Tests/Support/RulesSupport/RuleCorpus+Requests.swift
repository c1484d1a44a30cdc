extension RuleCorpus {
  /// Expressions about requests, failures and documents.
  package static let requests = #"""
    E request.method
    E request.path
    E request.path[0]
    E request.path[1]
    E request.path[9]
    E request.path.size()
    T request.path is path
    E request.path['database']
    E request.path.bind({})
    E request.query
    E request.resource
    E request.auth
    E request.auth.uid
    E request.auth['uid']
    E request.auth.uid[0]
    E request.auth.uid[0:2]
    E request.auth.token.sub
    E request.auth.token['role']
    E request.auth.token.zzz
    E request.auth.token.zzz == null
    T 'role' in request.auth.token
    F 'zzz' in request.auth.token
    E request.auth.token.get('zzz', 'none')
    E request.auth.token.n + 1
    E request.auth.keys()
    E request.auth.token.keys()
    F request.auth == null
    T request.auth != null
    E request.foo
    E request['method']
    T request.method in ['get','list']
    E request.writeFields
    T request is map
    F request.inTransaction
    T request.auth.uid is string && request.auth.uid.size() > 0
    E -request.auth.token.n
    T resource == null
    F resource is map
    E resource.data
    E resource.foo
    E database
    T database == '(default)'
    E id
    T id is string
    T id == 'x'
    T id.size() == 1
    E foo
    E foo == null
    E undefined
    E __name__
    E nofun(1)
    E foo.bar(1)
    E rules.Set([1])
    E set([1])
    E list([1])
    E map({})
    E null.size()
    E null.foo
    E (null)[0]
    E true.foo
    E 1.5.foo
    E (1).foo()
    E [1].foo
    E [1].size
    E [true, 1/ 0 == 1][0]
    E (1/ 0 == 1) == true
    T (1/ 0 == 1) || true
    T true || (1/ 0 == 1)
    E (1/ 0 == 1) || false
    E false || (1/ 0 == 1)
    F false && (1/ 0 == 1)
    F (1/ 0 == 1) && false
    E (1/ 0 == 1) && true
    E true && (1/ 0 == 1)
    E !(1/ 0 == 1)
    E (1/ 0 == 1) ? true : true
    T (1/ 0 == 1) || (1/ 0 == 1) || true
    F (1/ 0 == 1) && (1/ 0 == 1) && false
    T true ? true : 1/ 0
    E false ? true : 1/ 0
    E debug(1/ 0) == 1
    E 1 in [2, 1/ 0]
    E [1,2,3].hasAny([1/ 0])
    E math.pow(2, 1/ 0)
    T exists(/databases/(default)/documents/d/one)
    T exists(/databases/$(database)/documents/d/one)
    F exists(/databases/$(database)/documents/d/zero)
    E exists(/a/b)
    E exists('/databases/(default)/documents/d/one')
    E exists(/databases/(default)/documents/d)
    T exists(path('/databases/(default)/documents/d/one'))
    T exists(path('databases/(default)/documents/d/one'))
    E exists(/projects/p/databases/(default)/documents/d/one)
    E exists(/databases/(default)/documents/d/one/(default))
    E exists(/databases/other/documents/d/one)
    E exists(/databases/(default)/documents/d/one, 1)
    T existsAfter(/databases/$(database)/documents/d/one)
    E get(/databases/$(database)/documents/d/one).data.a
    T get(/databases/$(database)/documents/d/one).data.a == 1
    T get(/databases/$(database)/documents/d/one).data.s == 'x'
    T get(/databases/$(database)/documents/d/one).data.m.k == 2
    T get(/databases/$(database)/documents/d/one).data.l[0] == 1
    T get(/databases/$(database)/documents/d/one).data.t == timestamp.date(2020,1,1)
    T get(/databases/$(database)/documents/d/one).data.g == latlng.value(1.0,2.0)
    T get(/databases/$(database)/documents/d/one).data.r is path
    T get(/databases/$(database)/documents/d/one).data.r == /databases/(default)/documents/d/one
    T get(/databases/$(database)/documents/d/one).data.b.size() == 3
    T get(/databases/$(database)/documents/d/one).data.n == null
    T get(/databases/$(database)/documents/d/one).data.f == 1.5
    E get(/databases/$(database)/documents/d/one).data.zzz
    T get(/databases/$(database)/documents/d/one).id == 'one'
    T get(/databases/$(database)/documents/d/one).__name__ == /databases/(default)/documents/d/one
    T get(/databases/$(database)/documents/d/one)['__name__'] is path
    T get(/databases/$(database)/documents/d/one).keys().hasOnly(['data','id','__name__'])
    T get(/databases/$(database)/documents/d/one) is map
    E get(/databases/$(database)/documents/d/zero) == null
    E get(/databases/$(database)/documents/d/zero) != null
    E get(/databases/$(database)/documents/d/zero).data
    T get(/databases/$(database)/documents/d/zero) == null || true
    T getAfter(/databases/$(database)/documents/d/one).data.a == 1
    E get(1,2,3).a
    E get('x')
    E firestore.exists(/databases/(default)/documents/d/one)
    """#
}
