extension RuleCorpus {
  /// Expressions about the values of expressions of the other lists.
  package static let values = #"""
    T (1 + 1.0) == float('2.0')
    T (1 / 2) == (0)
    T (-7 / 2) == (-3)
    T (-7 % 3) == (-1)
    T (7.5 % 2) == float('1.5')
    T (1.0/ 0) == float('Infinity')
    T (.5) == float('0.5')
    T (5.) == float('5.0')
    T ('a' + 'b') == 'ab'
    T (true ? 1 : 'a') == (1)
    T (- 5) == (-5)
    T ([1,2,3][0]) == (1)
    T ([1,2,3][0:2]) == [(1), (2)]
    T ([1,2,3][1:]) == [(2), (3)]
    T ([1,2,3][0:3]) == [(1), (2), (3)]
    T ([1,2,3][1:1]) == []
    T ([1,2,3][null:1]) == [(1)]
    T ([1,2,3][:]) == [(1), (2), (3)]
    T ([1,2][:1]) == [(1)]
    T ('abc'[0]) == 'a'
    T ('abc'[2]) == 'c'
    T ('abc'[0:2]) == 'ab'
    T ('abc'[1:]) == 'bc'
    T ('abc'[:2]) == 'ab'
    T ('abc'[1:1]) == ''
    T ({'a':1}.a) == (1)
    T ({'a':1}['a']) == (1)
    T ({'a':1,'a':2}) == {'a': (2)}
    T ({'a':{'b':[1,2]}}.a.b[1]) == (2)
    T ('abc'.size()) == (3)
    T ('é€😀'.size()) == (4)
    T ("a\nb") == 'a\nb'
    T ('\x41') == 'A'
    T ('\u0041') == 'A'
    T ('\101') == 'A'
    T ('\'\"\\\b\f\n\r\t') == '\'"\\\x08\x0c\n\x0d\t'
    T ('\ud83d\ude00') == '😀'
    T (b'\xff') == b'\xff'
    T (b'\xff\x00a') == b'\xff\x00\x61'
    T (b'é') == b'\xc3\xa9'
    T ('a' + "b") == 'ab'
    T ("it's") == 'it\'s'
    T ('a"b') == 'a"b'
    T (-1 + 2 * 3) == (5)
    T (2 - -2) == (4)
    T (1-2) == (-1)
    T (1 -2) == (-1)
    T (1 - 2 - 3) == (-4)
    T (8 / 2 / 2) == (2)
    T (8 / 2 * 2) == (8)
    T (7 % 4 * 2) == (6)
    T (2 + 3 * 4 - 5) == (9)
    T (false ? 1 : true ? 2 : 3) == (2)
    T (true ? true ? 1 : 2 : 3) == (1)
    T (true || true ? 1 : 2) == (1)
    T (-[1,2][0]) == (-1)
    T (2 * -3) == (-6)
    T ([1,2,]) == [(1), (2)]
    T ({'a':1,}) == {'a': (1)}
    T ((1)) == (1)
    T (/a/b) == path('/a/b')
    T (/a/$(request.auth.uid)/c) == path('/a/alice/c')
    T (/a/$('x' + 'y')) == path('/a/xy')
    T (/a/$(1)) == path('/a/1')
    T (/a/$(/b/c)) == path('/a/b/c')
    F (/a/$('b/c')) == path('/a/b/c')
    T (/a/$(null)) == path('/a/null')
    T (/a/b-c) == path('/a/b-c')
    T (/a/b.c) == path('/a/b.c')
    T (/a/b:c) == path('/a/b:c')
    T (/a/b+c) == path('/a/b c')
    E (/a/%20) == path('/a/ ')
    T (/a/b*) == path('/a/b*')
    T (/a/(default)/b) == path('/a/(default)/b')
    T (/a /b) == path('/a/b')
    T (/a/in) == path('/a/in')
    T (/a/'b') == path('/a/\'b\'')
    T (/databases/(default)/documents/users/$(request.auth.uid)) == path('/databases/(default)/documents/users/alice')
    T ((/a/b)[0]) == 'a'
    T (/a/b[0]) == 'a'
    T (path('/a/b')) == path('/a/b')
    T (path('a/b')) == path('/a/b')
    T (path('/a/{x}').bind({'x':'y'})['x']) == 'y'
    T (path('/a/b')[0]) == 'a'
    T ((/a/{x}).bind({'x':'y'})[1]) == 'y'
    T ((/a/{x}).bind({'x':1})[1]) == '1'
    T ((/a/{x}).bind({'x':/b/c})[1]) == '/b/c'
    T ((/a/{x}).bind({})) == path('/a')
    T (string(/a/{x})) == '/a/'
    T (string((/a/{x}).bind({'x':'y'}))) == '/a/y'
    T (string(1)) == '1'
    T (string(1.0)) == '1.0'
    T (string(1.5)) == '1.5'
    T (string(-0.0)) == '-0.0'
    T (string(100000000.0)) == '1.0E8'
    T (string(9999999.0)) == '9999999.0'
    T (string(10000000.0)) == '1.0E7'
    T (string(0.001)) == '0.001'
    T (string(0.0001)) == '1.0E-4'
    T (string(12345678901.5)) == '1.23456789015E10'
    T (string(1234567.125)) == '1234567.125'
    T (string(123456789012345678901234567890.5)) == '1.2345678901234568E29'
    T (string(true)) == 'true'
    T (string(null)) == 'null'
    T (string('a')) == 'a'
    T (string(/a/b)) == '/a/b'
    T (string(float('NaN'))) == 'NaN'
    T (string(float('-Infinity'))) == '-Infinity'
    T (int('5')) == (5)
    T (int('-5')) == (-5)
    T (int('+5')) == (5)
    T (int(5.9)) == (5)
    T (int(-5.9)) == (-5)
    T (int(5)) == (5)
    T (int('9223372036854775807')) == (9223372036854775807)
    T (int('-9223372036854775808')) == (-9223372036854775807 - 1)
    T (int(9223372036854775807.0)) == (9223372036854775807)
    T (int(9300000000000000000.0)) == (9223372036854775807)
    T (int(float('NaN'))) == (0)
    T (int(float('-Infinity'))) == (-9223372036854775807 - 1)
    T (float('5')) == float('5.0')
    T (float('1e3')) == float('1000.0')
    F (float('NaN')) == float('NaN')
    F (float('-NaN')) == float('NaN')
    T (float('Infinity')) == float('Infinity')
    T (float('-Infinity')) == float('-Infinity')
    T (float(5)) == float('5.0')
    T (float(1.5)) == float('1.5')
    T (float('0x1p3')) == float('8.0')
    T (float(' 5 ')) == float('5.0')
    T (float('5d')) == float('5.0')
    T (float('1f')) == float('1.0')
    T (float('+1.5e-3')) == float('0.0015')
    T (float('.5')) == float('0.5')
    T (float('5.')) == float('5.0')
    T (float('-.5')) == float('-0.5')
    T (float('1e400')) == float('Infinity')
    T (float(9007199254740993)) == float('9007199254740992.0')
    T (1 - 0.5) == float('0.5')
    T (1.5 * 2) == float('3.0')
    T (1 / 2.0) == float('0.5')
    T (1 / 0.0) == float('Infinity')
    F (0.0 / 0.0) == float('NaN')
    F (5.5 % 0.0) == float('NaN')
    T (5 % 2.5) == float('0.0')
    T (-5 % 3) == (-2)
    T (5 % -3) == (2)
    T (-5.5 % 3) == float('-2.5')
    T (-9223372036854775807 - 1) == (-9223372036854775807 - 1)
    T ((-9223372036854775807 - 1) / -1) == (-9223372036854775807 - 1)
    T ((-9223372036854775807 - 1) % -1) == (0)
    T (-9223372036854775808) == (-9223372036854775807 - 1)
    T ('ABC'.lower()) == 'abc'
    T ('abc'.upper()) == 'ABC'
    T ('äß'.upper()) == 'äß'
    T ('ÄİΣ'.lower()) == 'ÄİΣ'
    T ('  a b '.trim()) == 'a b'
    T ('\u00a0a\u3000'.trim()) == ' a　'
    T ('\t\n a'.trim()) == 'a'
    T (''.trim()) == ''
    T ('aXbX'.replace('X','y')) == 'ayby'
    T ('aXbX'.replace('(X)','<\\1>')) == 'a<1>b<1>'
    T ('aXbX'.replace('(X)','<$1>')) == 'a<X>b<X>'
    T ('aXbX'.replace('X','<$0>')) == 'a<X>b<X>'
    T ('aXbX'.replace('X','$')) == 'a$b$'
    T ('aXbX'.replace('X','\\9')) == 'a9b9'
    T ('aXbX'.replace('X','\\$1')) == 'a$1b$1'
    T ('aXbX'.replace('X','\\')) == 'a\\b\\'
    T ('a.b.c'.replace('.','x')) == 'xxxxx'
    T ('abc'.replace('','-')) == '-a-b-c-'
    T ('abc'.replace('z','y')) == 'abc'
    T ('a,b,c'.split(',')) == ['a', 'b', 'c']
    T ('abc'.split('')) == ['', 'a', 'b', 'c']
    T (''.split(',')) == ['']
    T (''.split('')) == ['']
    T (',a,'.split(',')) == ['', 'a']
    T (',,a,,'.split(',')) == ['', '', 'a']
    T (',,'.split(',')) == ['']
    T ('a1b2'.split('[0-9]')) == ['a', 'b']
    T ('abc'.toUtf8()) == b'\x61\x62\x63'
    T ('é'.toUtf8()) == b'\xc3\xa9'
    T ([1,2].concat([3])) == [(1), (2), (3)]
    T (['a','b'].join('-')) == 'a-b'
    T ([1,2].join('-')) == '1-2'
    T ([1,'a',null,true,1.5].join('-')) == '1-a-null-true-1.5'
    T ([/a/b].join('-')) == '/a/b'
    T ([].join('-')) == ''
    T ([1,2,1].removeAll([1])) == [(2)]
    T ([1,1.0,2].removeAll([1])) == [float('1.0'), (2)]
    T ([1,2].size()) == (2)
    T ([1,2,1].toSet()) == [(1), (2)].toSet()
    T ([1,2,1].toSet().size()) == (2)
    T ([1,1.0].toSet().size()) == (1)
    T ([[1],[1]].toSet().size()) == (1)
    T ([[1],[1.0]].toSet().size()) == (1)
    T ([1,[2]].toSet()) == [(1), [(2)]].toSet()
    T ([1,2].toSet().difference([1].toSet())) == [(2)].toSet()
    T ([1.0].toSet().difference([1].toSet()).size()) == (0)
    T ([1,2].toSet().intersection([1,5].toSet())) == [(1)].toSet()
    T ([1,2].toSet().union([1,5].toSet())) == [(1), (2), (5)].toSet()
    T ({'a':1,'b':2}.diff({'a':1}).addedKeys()) == ['b'].toSet()
    T ({'a':1,'b':2}.diff({'a':3,'c':1}).affectedKeys()) == ['a', 'c', 'b'].toSet()
    T ({'a':1,'b':2}.diff({'a':3,'c':1}).changedKeys()) == ['a'].toSet()
    T ({'a':1,'b':2}.diff({'a':3,'c':1}).removedKeys()) == ['c'].toSet()
    T ({'a':1,'b':2}.diff({'a':1,'c':1}).unchangedKeys()) == ['a'].toSet()
    T ({'a':1}.diff({'a':1.0}).changedKeys()) == [].toSet()
    T ({'a':[1]}.diff({'a':[1.0]}).changedKeys()) == [].toSet()
    T ({'a':1}.get('a',5)) == (1)
    T ({'a':1}.get('b',5)) == (5)
    T ({'a':{'b':2}}.get(['a','b'],5)) == (2)
    T ({'a':{'b':2}}.get(['a','c'],5)) == (5)
    T ({'a':{'b':2}}.get(['a','b','c'],5)) == (5)
    T ({'a':{'b':2}}.get([],5)) == {'a': {'b': (2)}}
    T ({'a':{'b':2}}.get(['x','b'],5)) == (5)
    T ({'a':1}.get('b',null)) == null
    T ({'a.b':1}.get('a.b',2)) == (1)
    T ({'a':null}.get('a',2)) == null
    T ({'b':1,'a':2}.keys()) == ['a', 'b']
    T>F ({'b':1,'a':2}.values()) == [(1), (2)]
    T ({'a':1}.size()) == (1)
    T ({}.keys()) == []
    T ({'size': 1}.size()) == (1)
    T ({'size': 1}.size) == (1)
    T (b'abc'.size()) == (3)
    T (b'abc'.toBase64()) == 'YWJj'
    T (b''.toBase64()) == ''
    T (b'a'.toBase64()) == 'YQ=='
    T (b'ab'.toBase64()) == 'YWI='
    T (b'\xff\xfe\xfd'.toBase64()) == '__79'
    T (b'abc'.toHexString()) == '616263'
    T (b'\xab\x0f'.toHexString()) == 'AB0F'
    T (duration.value(1,'s')) == (duration.value(1,'s') + duration.value(0,'ns'))
    T (duration.value(1,'w')) == (duration.value(604800,'s') + duration.value(0,'ns'))
    T (duration.value(1,'d')) == (duration.value(86400,'s') + duration.value(0,'ns'))
    T (duration.value(1,'h')) == (duration.value(3600,'s') + duration.value(0,'ns'))
    T (duration.value(1,'m')) == (duration.value(60,'s') + duration.value(0,'ns'))
    T (duration.value(1,'ms')) == (duration.value(0,'s') + duration.value(1000000,'ns'))
    T (duration.value(1,'ns')) == (duration.value(0,'s') + duration.value(1,'ns'))
    T (duration.value(-1,'s')) == duration.value(0,'s') - (duration.value(1,'s') + duration.value(0,'ns'))
    T (duration.value(1,'s').seconds()) == (1)
    T (duration.value(1500,'ms').nanos()) == (500000000)
    T (duration.value(-1500,'ms').nanos()) == (-500000000)
    T (duration.value(-1500,'ms').seconds()) == (-1)
    T (duration.value(9223372036854775807,'ns')) == (duration.value(9223372036,'s') + duration.value(854775807,'ns'))
    T (duration.value(315576000000,'s')) == (duration.value(315576000000,'s') + duration.value(0,'ns'))
    T (duration.value(315576000000,'s') + duration.value(1,'ns')) == (duration.value(315576000000,'s') + duration.value(1,'ns'))
    T (duration.abs(duration.value(-1,'s'))) == (duration.value(1,'s') + duration.value(0,'ns'))
    T (duration.value(1,'s') + duration.value(2,'s')) == (duration.value(3,'s') + duration.value(0,'ns'))
    T (duration.value(1,'s') - duration.value(2,'s')) == duration.value(0,'s') - (duration.value(1,'s') + duration.value(0,'ns'))
    T (-duration.value(1,'s')) == duration.value(0,'s') - (duration.value(1,'s') + duration.value(0,'ns'))
    T (timestamp.date(2020,1,2)) == timestamp.value('2020-01-02T00:00:00Z')
    T (timestamp.date(2020,2,29)) == timestamp.value('2020-02-29T00:00:00Z')
    T (timestamp.date(1,1,1)) == timestamp.value('0001-01-01T00:00:00Z')
    T (timestamp.date(9999,12,31)) == timestamp.value('9999-12-31T00:00:00Z')
    T (timestamp.value(1)) == timestamp.value('1970-01-01T00:00:00.001Z')
    T (timestamp.value(1500)) == timestamp.value('1970-01-01T00:00:01.500Z')
    T (timestamp.value(-1)) == timestamp.value('1969-12-31T23:59:59.999Z')
    T (timestamp.value(253402300799999)) == timestamp.value('9999-12-31T23:59:59.999Z')
    T (timestamp.value(-62135596800000)) == timestamp.value('0001-01-01T00:00:00Z')
    T (timestamp.value('2020-01-01T00:00:00Z')) == timestamp.value('2020-01-01T00:00:00Z')
    T (timestamp.value('2020-01-01T00:00:00.123456789Z').nanos()) == (123456789)
    T (timestamp.value('2020-01-01T00:00:00.5Z').nanos()) == (500000000)
    T (timestamp.value('2020-01-01T00:00:00+01:00')) == timestamp.value('2019-12-31T23:00:00Z')
    T (timestamp.value('2020-01-01T00:00:00-01:30')) == timestamp.value('2020-01-01T01:30:00Z')
    T>E (timestamp.value('2020-02-30T00:00:00Z')) == timestamp.value('2020-03-01T00:00:00Z')
    T (timestamp.value(1500).date()) == timestamp.value('1970-01-01T00:00:00Z')
    T (timestamp.value(1500).day()) == (1)
    T (timestamp.value(1500).dayOfWeek()) == (4)
    T (timestamp.value(1500).dayOfYear()) == (1)
    T (timestamp.value(1500).hours()) == (0)
    T (timestamp.value(1500).minutes()) == (0)
    T (timestamp.value(1500).month()) == (1)
    T (timestamp.value(1500).nanos()) == (500000000)
    T (timestamp.value(1500).seconds()) == (1)
    T (timestamp.value(1500).time()) == (duration.value(1,'s') + duration.value(500000000,'ns'))
    T (timestamp.value(1500).toMillis()) == (1500)
    T (timestamp.value(1500).year()) == (1970)
    T (timestamp.value(-1500).nanos()) == (500000000)
    T (timestamp.value(-1500).toMillis()) == (-1500)
    T (timestamp.value(-1500).seconds()) == (58)
    T (timestamp.value(-1500).minutes()) == (59)
    T (timestamp.value(-1500).hours()) == (23)
    T (timestamp.value(-1500).dayOfWeek()) == (3)
    T (timestamp.value(-1500).year()) == (1969)
    T (timestamp.value(-1500).time()) == (duration.value(86398,'s') + duration.value(500000000,'ns'))
    T (timestamp.value(-1500).date()) == timestamp.value('1969-12-31T00:00:00Z')
    T (timestamp.date(2024,2,29).dayOfYear()) == (60)
    T (timestamp.date(2024,12,31).dayOfYear()) == (366)
    T (timestamp.date(2024,12,29).dayOfWeek()) == (7)
    T (timestamp.date(1,1,1).dayOfWeek()) == (1)
    T (timestamp.date(1600,2,29).dayOfYear()) == (60)
    T (timestamp.date(9999,12,31).toMillis()) == (253402214400000)
    T (timestamp.value(1500) + duration.value(1,'s')) == timestamp.value('1970-01-01T00:00:02.500Z')
    T (duration.value(1,'s') + timestamp.value(1500)) == timestamp.value('1970-01-01T00:00:02.500Z')
    T (timestamp.value(1500) - duration.value(1,'s')) == timestamp.value('1970-01-01T00:00:00.500Z')
    T (timestamp.value(1500) - timestamp.value(500)) == (duration.value(1,'s') + duration.value(0,'ns'))
    T (timestamp.date(9999,12,31) - timestamp.date(1,1,1)) == (duration.value(315537811200,'s') + duration.value(0,'ns'))
    T (latlng.value(1,2)) == latlng.value(1.0,2.0)
    T (latlng.value(1.5,2.5)) == latlng.value(1.5,2.5)
    T (latlng.value(-90,-180)) == latlng.value(-90.0,-180.0)
    T (latlng.value(1.5,2.5).latitude()) == float('1.5')
    T (latlng.value(1,2).longitude()) == float('2.0')
    T (latlng.value(0.0,0.0).distance(latlng.value(0.0,1.0))) == float('111195.08372419141')
    T (math.abs(-1)) == (1)
    T (math.abs(-1.5)) == float('1.5')
    T (math.abs(-9223372036854775807 - 1)) == (-9223372036854775807 - 1)
    T (math.abs(float('-Infinity'))) == float('Infinity')
    T (math.ceil(1.2)) == float('2.0')
    T (math.ceil(-1.2)) == float('-1.0')
    T (math.ceil(-0.5)) == float('-0.0')
    T (math.ceil(1)) == float('1.0')
    T (math.ceil(99999999999999999999.0)) == float('1e+20')
    T (math.floor(1.7)) == float('1.0')
    T (math.floor(-1.7)) == float('-2.0')
    F (math.floor(float('NaN'))) == float('NaN')
    T (math.floor(3)) == float('3.0')
    T (math.round(1.5)) == (2)
    T (math.round(2.5)) == (3)
    T (math.round(-1.5)) == (-1)
    T (math.round(-2.5)) == (-2)
    T (math.round(-1.2)) == (-1)
    T (math.round(0.49999999999999994)) == (0)
    T (math.round(1)) == (1)
    T (math.round(9007199254740993)) == (9007199254740992)
    T (math.round(99999999999999999999.0)) == (9223372036854775807)
    T (math.round(float('NaN'))) == (0)
    T (math.round(float('-Infinity'))) == (-9223372036854775807 - 1)
    T (math.sqrt(4)) == float('2.0')
    T (math.sqrt(2.0)) == float('1.4142135623730951')
    F (math.sqrt(-1.0)) == float('NaN')
    T (math.pow(2,3)) == float('8.0')
    T (math.pow(2.0,0.5)) == float('1.4142135623730951')
    T (math.pow(0,-1)) == float('Infinity')
    F (math.pow(-8.0,1/ 3.0)) == float('NaN')
    T (hashing.crc32('abc')) == b'\xc2\x41\x24\x35'
    T (hashing.crc32(b'abc')) == b'\xc2\x41\x24\x35'
    T (hashing.crc32('')) == b'\x00\x00\x00\x00'
    T (hashing.crc32c('abc')) == b'\xb7\x3f\x4b\x36'
    T (hashing.md5('abc')) == b'\x90\x01\x50\x98\x3c\xd2\x4f\xb0\xd6\x96\x3f\x7d\x28\xe1\x7f\x72'
    T (hashing.md5('')) == b'\xd4\x1d\x8c\xd9\x8f\x00\xb2\x04\xe9\x80\x09\x98\xec\xf8\x42\x7e'
    T (hashing.md5('12345678901234567890123456789012345678901234567890123456789012345678901234567890')) == b'\x57\xed\xf4\xa2\x2b\xe3\xc9\x55\xac\x49\xda\x2e\x21\x07\xb6\x7a'
    T (hashing.sha256('abc')) == b'\xba\x78\x16\xbf\x8f\x01\xcf\xea\x41\x41\x40\xde\x5d\xae\x22\x23\xb0\x03\x61\xa3\x96\x17\x7a\x9c\xb4\x10\xff\x61\xf2\x00\x15\xad'
    T (hashing.sha256('')) == b'\xe3\xb0\xc4\x42\x98\xfc\x1c\x14\x9a\xfb\xf4\xc8\x99\x6f\xb9\x24\x27\xae\x41\xe4\x64\x9b\x93\x4c\xa4\x95\x99\x1b\x78\x52\xb8\x55'
    T (hashing.sha256('abcdbcdecdefdefgefghfghighijhijkijkljklmklmnlmnomnopnopq')) == b'\x24\x8d\x6a\x61\xd2\x06\x38\xb8\xe5\xc0\x26\x93\x0c\x3e\x60\x39\xa3\x3c\xe4\x59\x64\xff\x21\x67\xf6\xec\xed\xd4\x19\xdb\x06\xc1'
    T (hashing.md5(b'abc').toHexString()) == '900150983CD24FB0D6963F7D28E17F72'
    T (debug(1)) == (1)
    T (debug(1, 2)) == (1)
    T (request.method) == 'get'
    T (request.path[0]) == 'databases'
    T (request.path[1]) == '(default)'
    T (request['method']) == 'get'
    T (-request.auth.token.n) == (-7)
    T (database) == '(default)'
    T (id) == 'x'
    T 'b'.replace('a+','$1') == 'b'
    T 'b'.replace('(a+)','$2') == 'b'
    T 'b'.replace('a+','${x}') == 'b'
    T 'b'.replace('a+','${') == 'b'
    E 'b'.replace('(','$2') == 'b'
    """#
}
