extension RuleCorpus {
  /// Expressions about operators, literals and types.
  package static let operators = #"""
    T 1 == 1.0
    F 1 < 1.0
    E 1 + 1.0
    E 1 / 2
    E -7 / 2
    E -7 % 3
    E 7.5 % 2
    E 1/ 0
    E 1.0/ 0
    E 1%0
    E 9223372036854775807 + 1
    E 9223372036854775807 * 2
    E -9223372036854775807 - 2
    C 9223372036854775808
    C 0x10
    C 1e3
    C 1.5e3
    E .5
    E 5.
    C 012
    E 'a' + 'b'
    E 'a' + 1
    E 1 + 'a'
    E [1] + [2]
    T [1,2] == [1,2]
    F [1,2] == [1.0,2]
    F {'a':1} == {'a':1.0}
    T null == null
    F null == 1
    E null < null
    E true < false
    T 'a' < 'b'
    T 'a' <= 'a'
    T 'b' > 'a'
    F 'a' >= 'b'
    T b'a' < b'b'
    T 1 in [1,2]
    F 1.0 in [1,2]
    T 'a' in {'a':1}
    E 1 in 1
    E 'a' in 'abc'
    F null is map
    T 1 is int
    T 1 is number
    F 1 is float
    T 1.5 is number
    T 1.5 is float
    T 'a' is string
    C null is null
    T [1] is list
    T {} is map
    T b'a' is bytes
    T true is bool
    T /a/b is path
    T /a/$('b') is path
    T duration.value(1,'s') is duration
    T latlng.value(1.0,2.0) is latlng
    F latlng.value(1,2) is map
    T {'a':1}.diff({}) is map_diff
    F {'a':1}.diff({}) is map
    F [1] is vector
    F [1] is constraint
    C foo is bar
    C 1 is foo
    E true ? 1 : 'a'
    E 1 ? 2 : 3
    E null ? 2 : 3
    E !1
    E !null
    E -'a'
    E -null
    E - 5
    C --5
    T !!true
    E true && 1
    E 1 && true
    F false && 1
    F 1 && false
    T 1 || true
    T true || 1
    E false || 1
    E 1 || false
    T null || true
    F null && false
    E null || false
    T 1 || 'a' || true
    E [1,2,3][0]
    E [1,2,3][3]
    E [1,2,3][-1]
    E [1,2,3][0:2]
    E [1,2,3][1:]
    E [1,2,3][1:10]
    E [1,2,3][1.0]
    E [1,2,3]['0':1]
    E [1,2,3][2:1]
    E [1,2,3][3:3]
    E [1,2,3][0:3]
    E [1,2,3][0:4]
    E [1,2,3][-1:2]
    E [1,2,3][0:0]
    E [1,2,3][1:1]
    E [1,2,3][null:1]
    E [1,2,3][:]
    E [1,2][:1]
    E [][0:0]
    E 'abc'[0]
    E 'abc'[2]
    E 'abc'[3]
    E 'abc'[-1]
    E 'abc'[5]
    E 'abc'[0:2]
    E 'abc'[1:]
    E 'abc'[:2]
    E 'abc'[1:1]
    E 'abc'[3:3]
    E 'abc'[2:1]
    E ''[0:0]
    E 'abc'[1:5]
    E 'abc'[-1:1]
    E 'abc'['a']
    E 'abc'[true]
    E [1]['a']
    E b'abc'[0]
    E b'abc'[0:1]
    E {'a':1}['a':'b']
    E {'a':1}.a
    E {'a':1}['a']
    E {'a':1}['b']
    E {'a':1}.b
    E {'a':1}[1]
    E {'a':1}[null]
    E {1:2}
    E {a:2}
    E {'a':1,'a':2}
    E {'a':{'b':[1,2]}}.a.b[1]
    E 'abc'.size()
    E 'é€😀'.size()
    E 'abc'.size
    E "a\nb"
    E '\x41'
    E '\u0041'
    E '\101'
    C '\q'
    C '\U0001F600'
    E '\'\"\\\b\f\n\r\t'
    C '\a'
    C '\v'
    C '\0'
    C '\?'
    C '\`'
    C '\1'
    C '\400'
    E '\ud83d\ude00'
    C r'\n'
    E b'\xff'
    E b'\xff\x00a'
    E b'é'
    C b'\u0041'
    C b'\777'
    E 'a' + "b"
    E b'a' + b'b'
    E "it's"
    E 'a"b'
    T 1 == 1 == true
    T 1 < 2 == true
    T !true == false
    E -1 + 2 * 3
    E 1 in [1] == true
    T 1 is int == true
    E 2 - -2
    E 1-2
    E 1 -2
    E 1 < 2 < 3
    T 1 != 2 == true
    E 1 - 2 - 3
    E 8 / 2 / 2
    E 8 / 2 * 2
    E 7 % 4 * 2
    E 2 + 3 * 4 - 5
    T 1 < 2 == 2 < 3
    T 1 + 1 in [2]
    T 1 < 2 in [true]
    T 1 == 2 in [false]
    F true == 1 in [1]
    T 1 in [1] && true
    E !1 in [1]
    F !(1 in [1])
    T 1 in [1] in [true]
    T (1 in [1]) in [true]
    T true in [1 < 2]
    T [1] in [[1]]
    T 1 + 1 is int
    T !true is bool
    T 1 == 1 is bool
    T true || false && false
    F (true || false) && false
    F true ? false : true ? true : true
    E false ? 1 : true ? 2 : 3
    E true ? true ? 1 : 2 : 3
    E true || true ? 1 : 2
    E 1 + true ? 2 : 3
    E -[1,2][0]
    E -(1).size()
    E 2 * -3
    E !request.auth.uid == 'x'
    E a.b.c
    E [1,2,]
    E {'a':1,}
    C [,]
    E (1)
    C ()
    C [1 2]
    C {'a' 1}
    """#
}
