extension RuleCorpus {
  /// Expressions about paths, conversions and arithmetic.
  package static let paths = #"""
    E /a/b
    E /a/$(request.auth.uid)/c
    C /a/b/
    C /
    E /a/$('x' + 'y')
    E /a/$(1)
    E /a/$(/b/c)
    E /a/$('b/c')
    E /a/$(null)
    E /a/$([1])
    E /a/b-c
    E /a/b.c
    E /a/b:c
    E /a/b+c
    E /a/%20
    E /a/b*
    C /a/b!c
    E /a/(default)/b
    C /a/(b)c
    C /a/x$('y')
    E /a/ b
    C / a/b
    E /a /b
    E /a/in
    E /a/'b'
    E /a/{x}
    E /a/{x=**}
    E /databases/(default)/documents/users/$(request.auth.uid)
    C /a/b c
    E (/a/b)[0]
    E /a/b[0]
    T /a/b == /a/b
    T /a/b==/a/b
    F /a/b == '/a/b'
    T /a/$('b') == /a/b
    E /a/b + 'c'
    E /a/b < /a/c
    T /a/b in [/a/b]
    C /a/b.size()
    E (/a/b).foo
    E path('/a/b')
    E path('a/b')
    T path('a/b') == /a/b
    E path('/a/b/')
    E path('')
    E path('/')
    E path(1)
    E path('/a/{x}').bind({'x':'y'})
    E path('/a/$(x)').bind({'x':'y'})
    E path('/a/{x}')['x']
    E path('/a/{x}').bind({'x':'y'})['x']
    E path('/a/b')[0]
    E path('/a/b')[2]
    E path('/a/b')['0']
    T (/a/{x}).bind({'x':'y'}) == /a/y
    E (/a/{x}).bind({'x':'y'})[1]
    E (/a/{x}).bind({'x':1})[1]
    E (/a/{x}).bind({'x':/b/c})[1]
    E (/a/{x}).bind({})
    E (/a/{x}).bind({'y':'z'})
    E (/a/{x})[1]
    E string(/a/{x})
    E string((/a/{x}).bind({'x':'y'}))
    E path('/a/{x=**}').bind({'x':/b/c})
    E path('/a/{x=**}').bind({'x':'b/c'})
    E (/a/b).bind(1)
    E string(1)
    E string(1.0)
    E string(1.5)
    E string(-0.0)
    E string(100000000.0)
    E string(9999999.0)
    E string(10000000.0)
    E string(0.001)
    E string(0.0001)
    E string(12345678901.5)
    E string(1234567.125)
    E string(123456789012345678901234567890.5)
    E string(true)
    E string(null)
    E string('a')
    E string(/a/b)
    E string([1])
    E string({'a':1})
    E string(b'ab')
    E string(request.time)
    E string(duration.value(1,'s'))
    E string(float('NaN'))
    E string(float('-Infinity'))
    E int('5')
    E int(' 5')
    E int('5.5')
    E int('-5')
    E int('+5')
    E int('0x5')
    E int('')
    E int('-')
    E int('abc')
    E int(5.9)
    E int(-5.9)
    E int(true)
    E int(null)
    E int(5)
    E int('9223372036854775807')
    E int('9223372036854775808')
    E int('-9223372036854775808')
    E int(9223372036854775807.0)
    E int(9300000000000000000.0)
    E int(float('NaN'))
    E int(float('-Infinity'))
    E int()
    E int(1,2)
    E float('5')
    E float('1e3')
    E float('abc')
    E float('NaN')
    E float('-NaN')
    E float('Infinity')
    E float('-Infinity')
    E float('inf')
    E float('infinity')
    E float('nan')
    E float(5)
    E float(1.5)
    E float(true)
    E float('0x1p3')
    E float('0x1')
    E float(' 5 ')
    E float('5d')
    E float('1f')
    E float('1_0')
    E float('')
    E float('+1.5e-3')
    E float('.5')
    E float('5.')
    E float('-.5')
    E float('.')
    E float('e5')
    E float('1e')
    E float('1e400')
    E float(9007199254740993)
    T 9007199254740993 == 9007199254740992.0
    F 9007199254740993 > 9007199254740992.0
    E 1 - 0.5
    E 1.5 * 2
    E 1 / 2.0
    E 1 / 0.0
    E 0.0 / 0.0
    E 5.5 % 0.0
    E 5 % 2.5
    E -5 % 3
    E 5 % -3
    E -5.5 % 3
    E -9223372036854775807 - 1
    E (-9223372036854775807 - 1) / -1
    E (-9223372036854775807 - 1) % -1
    E -(-9223372036854775807 - 1)
    E -9223372036854775808
    E 'a' - 'b'
    E 'a' * 2
    E 1.5 % 'a'
    F float('NaN') == float('NaN')
    T float('NaN') != float('NaN')
    F float('NaN') < 1.0
    F float('NaN') >= 1.0
    T float('Infinity') > 1.0
    F [float('NaN')] == [float('NaN')]
    F float('NaN') in [float('NaN')]
    T 0.0 == -0.0
    T -0.0 == 0
    F [0.0] == [-0.0]
    F '\uffff' < '😀'
    F '\uffff' == '😀'
    T 'A' < 'a'
    T 'a' < 'ab'
    T '' < 'a'
    E path(/a/b) == /a/b
    E path(/a/b) is path
    T path('/a/b') == /a/b
    E path(path('/a/b')) == /a/b
    E path(request.path) is path
    E exists(path(/databases/$(database)/documents/d/one))
    """#
}
