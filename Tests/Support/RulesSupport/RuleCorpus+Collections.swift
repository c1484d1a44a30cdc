extension RuleCorpus {
  /// Expressions about methods of strings, lists, sets, maps and bytes.
  package static let collections = #"""
    E 'ABC'.lower()
    E 'abc'.upper()
    E 'äß'.upper()
    E 'ÄİΣ'.lower()
    E '  a b '.trim()
    E '\u00a0a\u3000'.trim()
    E '\t\n a'.trim()
    E ''.trim()
    T 'abc'.matches('a.c')
    F 'xabcx'.matches('abc')
    C 'abc'.matches('(')
    E 'abc'.matches(request.auth.uid + '(')
    E 'abc'.matches(1)
    T 'abc'.matches('^abc$')
    F 'a\nb'.matches('a.b')
    T 'alice@example.com'.matches('[^@]+@example[.]com')
    T 'ABC'.matches('(?i)abc')
    T 'abc'.matches('a|abc')
    E 'aXbX'.replace('X','y')
    E 'aXbX'.replace('(X)','<\\1>')
    E 'aXbX'.replace('(X)','<$1>')
    E 'aXbX'.replace('X','<$0>')
    E 'aXbX'.replace('X','<$1>')
    E 'aXbX'.replace('X','$')
    E 'aXbX'.replace('X','\\9')
    E 'aXbX'.replace('X','\\$1')
    E 'aXbX'.replace('X','\\')
    E 'a.b.c'.replace('.','x')
    E 'abc'.replace('','-')
    E 'abc'.replace('b',1)
    E 'abc'.replace(1,'b')
    E 'abc'.replace('z','y')
    E 'a,b,c'.split(',')
    E 'abc'.split('')
    E ''.split(',')
    E ''.split('')
    E ',a,'.split(',')
    E ',,a,,'.split(',')
    E ',,'.split(',')
    E 'a1b2'.split('[0-9]')
    E 'a,b'.split(1)
    E 'abc'.toUtf8()
    E 'é'.toUtf8()
    E 'abc'.size(1)
    E 'abc'.foo()
    E 'abc'.startsWith('a')
    E 'abc'.contains('a')
    E 'abc'.length()
    E size('abc')
    E [1,2].concat([3])
    E [1,2].concat(3)
    E [1,2].concat([3].toSet())
    T [1,2].hasAll([1])
    T [1,2].hasAll([])
    F [1,2].hasAll([3])
    E [1,2].hasAll(1)
    F [1,2].hasAll([1.0])
    E [1,2].hasAll([1].toSet())
    T [1,2].hasAny([2,5])
    F [1,2].hasAny([])
    F [1,2].hasAny([1.0])
    T [1,2].hasOnly([1,2])
    T [1,2].hasOnly([1,2,3])
    F [1,2].hasOnly([1])
    T [1,1].hasOnly([1])
    T [].hasOnly([1])
    T [].hasOnly([])
    E [1,2].hasOnly([1,2].toSet())
    E ['a','b'].join('-')
    E [1,2].join('-')
    E [1,'a',null,true,1.5].join('-')
    E [/a/b].join('-')
    E [[1]].join('-')
    E [].join('-')
    E ['a','b'].join(1)
    E ['a'].join()
    E [1,2,1].removeAll([1])
    E [1,1.0,2].removeAll([1])
    E [1,2].removeAll(1)
    E [1,2].removeAll([1].toSet())
    E [1,2].size()
    E [1,2,1].toSet()
    E [1,2,1].toSet().size()
    E [1,1.0].toSet().size()
    E [[1],[1]].toSet().size()
    E [[1],[1.0]].toSet().size()
    E [1,[2]].toSet()
    T [1,2].toSet() == [2,1].toSet()
    T [1].toSet() == [1.0].toSet()
    F [1].toSet() == [1]
    F [1,2].toSet() == [1,2,3].toSet()
    E [1,2].toSet().difference([1].toSet())
    E [1.0].toSet().difference([1].toSet()).size()
    E [1,2].toSet().difference([1])
    E [1,2].toSet().intersection([1,5].toSet())
    E [1,2].toSet().intersection([1])
    E [1,2].toSet().union([1,5].toSet())
    E [1,2].toSet().union([3])
    T [1,2].toSet().hasAll([1])
    T [1,2].toSet().hasAll([1].toSet())
    T [1].toSet().hasAll([1.0])
    T [1,2].toSet().hasAny([1].toSet())
    F [1,2].toSet().hasAny([5])
    T [1,2].toSet().hasOnly([1,2].toSet())
    T [1,2].toSet().hasOnly([1,2])
    F [1,2].toSet().hasOnly([1])
    E [1,2].toSet().hasAll(1)
    T 1 in [1,2].toSet()
    T 1.0 in [1].toSet()
    F>T [1,2].toSet() is set
    F [1,2].toSet() is list
    E [1,2].toSet()[0]
    E [1].toSet().toSet()
    E [1].toSet().concat([2])
    E {'a':1,'b':2}.diff({'a':1}).addedKeys()
    E {'a':1,'b':2}.diff({'a':3,'c':1}).affectedKeys()
    E {'a':1,'b':2}.diff({'a':3,'c':1}).changedKeys()
    E {'a':1,'b':2}.diff({'a':3,'c':1}).removedKeys()
    E {'a':1,'b':2}.diff({'a':1,'c':1}).unchangedKeys()
    E {'a':1}.diff({'a':1.0}).changedKeys()
    E {'a':[1]}.diff({'a':[1.0]}).changedKeys()
    T {'a':1}.diff({'a':2}).changedKeys().hasOnly(['a'])
    T {'a':1}.diff({'a':null}).changedKeys().hasOnly(['a'])
    E {'a':1}.diff(1)
    F {'a':1}.diff({'a':1}) == {'b':1}.diff({'b':1})
    F {'a':1}.diff({'a':1}) == {'a':1}.diff({'a':1})
    E {'a':1}.diff({'a':1}).size()
    E {'a':1}.get('a',5)
    E {'a':1}.get('b',5)
    E {'a':1}.get('b')
    E {'a':{'b':2}}.get(['a','b'],5)
    E {'a':{'b':2}}.get(['a','c'],5)
    E {'a':{'b':2}}.get(['a','b','c'],5)
    E {'a':{'b':2}}.get([],5)
    E {'a':{'b':2}}.get(['x','b'],5)
    E {'a':{'b':2}}.get(['a',1],5)
    E {'a':{'b':2}}.get(['x',1],5)
    E {'a':1}.get(1,5)
    E {'a':1}.get('b',null)
    E {'a.b':1}.get('a.b',2)
    E {'a':null}.get('a',2)
    E {'b':1,'a':2}.keys()
    E {'b':1,'a':2}.values()
    E {'a':1}.size()
    E {}.keys()
    T {'a':1}.keys().hasAll(['a'])
    E {'size': 1}.size()
    E {'size': 1}.size
    E 1 in {'a':1}
    E null in {'a':1}
    E {'a':1} + {'b':2}
    T {} == {}
    T [] == []
    F [] == {}
    F [1] == 1
    F 'a' == b'a'
    T null != 1
    T 1 != '1'
    E {'a': 1/ 0} == 1
    E [1/ 0]
    E [1/ 0][0]
    E {'a': 1/ 0}.b
    E b'abc'.size()
    E b'abc'.toBase64()
    E b''.toBase64()
    E b'a'.toBase64()
    E b'ab'.toBase64()
    E b'\xff\xfe\xfd'.toBase64()
    E b'abc'.toHexString()
    E b'\xab\x0f'.toHexString()
    E b'abc'.toUtf8()
    T b'a' == b'a'
    F b'a' == b'b'
    F float('NaN') in [float('NaN')]
    F [float('NaN')].hasAny([float('NaN')])
    F [float('NaN')].removeAll([float('NaN')]) == []
    F [float('NaN')] == [float('NaN')]
    F {'a':float('NaN')} == {'a':float('NaN')}
    F [float('NaN')] in [[float('NaN')]]
    T [float('NaN'),float('NaN')].toSet().size() == 1
    T [float('NaN'),math.sqrt(-1.0)].toSet().size() == 1
    T [float('NaN'), float('-Infinity') + float('Infinity')].toSet().size() == 1
    T [float('NaN'), 1.0].toSet().size() == 2
    T [float('NaN')].toSet() == [float('NaN')].toSet()
    T float('NaN') in [float('NaN')].toSet()
    T [float('NaN')].toSet().hasAll([float('NaN')])
    T [float('NaN')].toSet().hasAny([float('NaN')])
    T [float('NaN')].toSet().hasOnly([float('NaN')])
    T [float('NaN')].toSet().difference([float('NaN')].toSet()).size() == 0
    T [float('NaN')].toSet().intersection([float('NaN')].toSet()).size() == 1
    T [float('NaN')].toSet().union([float('NaN')].toSet()).size() == 1
    T [[float('NaN')]].toSet() == [[float('NaN')]].toSet()
    T [float('NaN')] in [[float('NaN')]].toSet()
    T [[float('NaN')],[float('NaN')]].toSet().size() == 1
    T [{'a':float('NaN')},{'a':float('NaN')}].toSet().size() == 1
    T [float('NaN')].toSet() in [[float('NaN')].toSet()]
    T {'a':float('NaN')}.diff({'a':float('NaN')}).affectedKeys().size() == 0
    T {'a':float('NaN')}.diff({'a':float('NaN')}).unchangedKeys().hasOnly(['a'])
    T {'a':[float('NaN')]}.diff({'a':[float('NaN')]}).affectedKeys().size() == 0
    T {'a':{'b':float('NaN')}}.diff({'a':{'b':float('NaN')}}).affectedKeys().size() == 0
    T {'a':float('NaN')}.diff({'a':1.0}).affectedKeys().size() == 1
    """#
}
