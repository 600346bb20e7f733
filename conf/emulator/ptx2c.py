"""Translates a kernel from PTX to C, for the stand-in of the CUDA runtime (cudart.c), which calls it for each thread: registers are local variables, and what threads do together is a call.

PTX ISA 8 and 9 as NVIDIA documents it, as far as nvcc makes it of our kernels, PETSc's and CUB's; anything else is an error, never a guess."""
import re

TYPES = {'u8': 'uint8_t', 's8': 'int8_t', 'b8': 'uint8_t', 'u16': 'uint16_t', 's16': 'int16_t', 'b16': 'uint16_t', 'u32': 'uint32_t', 's32': 'int32_t', 'b32': 'uint32_t',
         'u64': 'uint64_t', 's64': 'int64_t', 'b64': 'uint64_t', 'f32': 'float', 'f64': 'double', 'pred': 'int'}
SPECIAL = {'%laneid': '(uint32_t)t->lane', '%lanemask_lt': '((1u << t->lane) - 1)', '%lanemask_le': '((2u << t->lane) - 1)', '%lanemask_eq': '(1u << t->lane)',
           '%lanemask_gt': '(~((2u << t->lane) - 1))', '%lanemask_ge': '(~((1u << t->lane) - 1))', '%warpid': '(uint32_t)(t->number / 32)', '%clock64': '0ull', '%clock': '0u',
           '%globaltimer': '0ull', '%smid': '0u', '%nsmid': '1u', 'WARP_SZ': '32'}
for k, d in enumerate('xyz'):
  SPECIAL.update({'%tid.' + d: 't->tid[%d]' % k, '%ntid.' + d: 't->ntid[%d]' % k, '%ctaid.' + d: 't->ctaid[%d]' % k, '%nctaid.' + d: 't->nctaid[%d]' % k})
COMPARISONS = {'eq': '==', 'ne': '!=', 'lt': '<', 'le': '<=', 'gt': '>', 'ge': '>=', 'lo': '<', 'ls': '<=', 'hi': '>', 'hs': '>='}
UNORDERED = {'equ': '({0} < {1} || {0} > {1})', 'neu': '{0} == {1}', 'ltu': '{0} >= {1}', 'leu': '{0} > {1}', 'gtu': '{0} <= {1}', 'geu': '{0} < {1}'}  # what is not so
OPERATORS = {'add': '+', 'sub': '-', 'and': '&', 'or': '|', 'xor': '^'}
ATOMICS = {'add': 'old + ({0})', 'exch': '({0})', 'and': 'old & ({0})', 'or': 'old | ({0})', 'xor': 'old ^ ({0})', 'min': '(old < ({0}) ? old : ({0}))', 'max': '(old > ({0}) ? old : ({0}))',
           'cas': '(old == ({0}) ? {1} : old)', 'inc': '(old >= ({0}) ? 0 : old + 1)'}
ROUNDINGS = {'rni': 'rint', 'rzi': 'trunc', 'rmi': 'floor', 'rpi': 'ceil'}
IGNORED = ('membar', 'fence', 'prefetch', 'griddepcontrol', 'discard', 'applypriority')
REFUSED = {'sat', 'rz', 'rm', 'rp', 'uni'}  # saturation, other roundings than to nearest, votes that nvcc makes none of
CARRYING = ('add', 'sub', 'mad')


def bits(ptx_type):
  return int(ptx_type[1:])


def c_name(name):
  return name.replace('%', '_').replace('$', '_S').replace('.', '_')


def unsigned(ptx_type):
  return ptx_type if ptx_type[0] == 'f' else 'u' + ptx_type[1:]


def split(text):
  """The operands of an instruction: what commas part, but not those in brackets."""
  parts, depth = [''], 0
  for c in text:
    depth += (c in '{[(') - (c in '}])')
    if c == ',' and depth == 0:
      parts.append('')
    else:
      parts[-1] += c
  return [p.strip() for p in parts if p.strip()]


def kernels(text):
  """All kernels of PTX modules, as cuobjdump prints them: name -> (declarations of the module before it, functions of the module before it by their names, its text)."""
  found, declarations, functions = {}, [], {}
  lines = text.split('\n')
  i = 0
  while i < len(lines):
    begins = re.match(r'(?:\.visible |\.weak )?\.(entry|func)\s+(?:\([^)]*\)\s*)?(\w+)', lines[i])
    if lines[i].startswith('Fatbin'):
      declarations, functions = [], {}
    elif begins:
      begin, depth, seen = i, 0, False
      while not seen or depth > 0:
        depth += lines[i].count('{') - lines[i].count('}')
        seen = seen or '{' in lines[i] or lines[i].rstrip().endswith(';')  # a prototype
        i += 1
      i -= 1
      body = '\n'.join(lines[begin:i + 1])
      if begins[1] == 'entry':
        found[begins[2]] = (declarations, functions, body)
      elif '{' in body:
        functions[begins[2]] = body
    elif re.match(r'\.(visible |extern |weak |common )?\.?(global|const|shared)\b', lines[i]):
      declarations.append(lines[i])
    i += 1
  return found


def statements(body):
  """Instructions, labels, declarations and braces, in their order."""
  text = re.sub(r'//[^\n]*', '', body)
  text = text[:text.rindex('}')]
  text = re.sub(r'(?m)^\s*([$\w]+:)', r'\1;', text)       # a label ends like an instruction
  text = re.sub(r'(?m)^\s*([{}])\s*(?=$|[.\n])', r'\1;', text)  # and a brace that stands for a scope, not for a vector
  text = re.sub(r';\s*([{}])\s*(?=\n|$)', r';\1;', text)
  return [s.strip() for s in text.replace('\n', ' ').split(';') if s.strip()]


class Kernel:
  """The C text of a kernel, or of a function that one calls: that finds parameters and results where its arguments point to."""

  def __init__(self, declarations, functions, text, is_function=False):
    head, body = text.split('\n{', 1)
    self.params_at, self.results, self.functions, self.called = 't->params', [], functions, set()
    if is_function:
      results = re.match(r'[.\w\s]*?\(([^)]*)\)\s*\w+\s*\(', head)
      self.results = re.findall(r'(\w+)(?:\[\d+\])?\s*(?:,|$)', results[1].strip()) if results else []
      head, self.params_at = head[results.end() if results else 0:].replace(')', '\n'), 'params'
    self.params = re.findall(r'\.param [^,\n]*?(\w+)(?:\[\d+\])?,?\s*(?:\n|$)', head)
    self.param_sizes = [bits(t) // 8 * int(n or 1) for t, n in re.findall(r'\.param (?:\.align \d+ )?\.(\w+) \w+(?:\[(\d+)\])?', head)]
    self.types, self.shared, self.locals, self.globals, self.dynamic = {}, {}, set(), {}, set()
    self.shared_size, self.together = 0, False
    self.lines = []
    for line in declarations:
      self.declare(line)
    before = self.shared_size
    for statement in statements(body):
      self.lines.append(self.statement(statement))
    if is_function and self.shared_size > before:
      raise ValueError('a function has shared memory of its own')

  def declare(self, line):
    """A variable of the module."""
    m = re.search(r'\.(shared|global|const)\b(.*?)([\w$]+)(\[(\d*)\])?\s*(?:=\s*(.*))?;', line)
    if m is None:
      return
    align, element = re.search(r'\.align (\d+)', line), re.search(r'\.([busf]\d+)', m[2])
    size = bits(element[1]) // 8 if element else 1
    if m[1] != 'shared':
      self.globals[m[3]] = (size, int(m[5] or 1), m[6] or '')
    elif m[4] == '[]':
      self.dynamic.add(m[3])
    else:
      self.add_shared(m[3], size * int(m[5] or 1), int(align[1]) if align else size)

  def add_shared(self, name, size, align):
    self.shared[name] = (self.shared_size + align - 1) // align * align
    self.shared_size = self.shared[name] + size

  def value(self, operand, ptx_type):
    """An operand as a C expression of a type of PTX; between integers and floating point numbers bits are taken as they are."""
    if operand in SPECIAL:
      return SPECIAL[operand]
    if operand.startswith('!'):
      return '!' + self.value(operand[1:], ptx_type)
    if operand.startswith('-') and operand[1:] in self.types:
      return '-' + self.value(operand[1:], ptx_type)
    if operand in self.types:
      return self.register(operand, ptx_type)
    m = re.fullmatch(r'0[dD]([0-9a-fA-F]{16})|0[fF]([0-9a-fA-F]{8})', operand)
    if m:
      number = '0x%sull' % m[1] if m[1] else '0x%su' % m[2]
      return ('AsDouble(%s)' if m[1] else 'AsFloat(%s)') % number if ptx_type[0] == 'f' else number
    if re.fullmatch(r'-?(0[xX][0-9a-fA-F]+|\d+)U?', operand):
      number = int(operand.rstrip('U'), 0)
      return '((%s)%s)' % (TYPES[ptx_type], '0x%xull' % (number % 2**64)) if ptx_type != 'pred' else str(number)
    m = re.fullmatch(r'(?:generic\()?([\w$]+)\)?(?:\+(\d+))?', operand)
    if m:
      return self.address_of(m[1], int(m[2] or 0))
    raise ValueError('operand ' + operand)

  def register(self, name, ptx_type):
    own, c = self.types[name], c_name(name)
    if 'pred' in (own, ptx_type) or (own[0] == 'f' and ptx_type[0] == 'f'):
      return c
    if ptx_type[0] == 'f':
      return ('AsDouble(%s)' if ptx_type == 'f64' else 'AsFloat((uint32_t)%s)') % c
    if own[0] == 'f':
      return '(%s)%s(%s)' % (TYPES[ptx_type], 'BitsOfDouble' if own == 'f64' else 'BitsOfFloat', c)
    return '(%s)%s' % (TYPES[ptx_type], c)

  def address_of(self, name, offset):
    """Variables in shared memory have their offset there, all others the address that the host knows."""
    if name in self.shared:
      return '%du' % (self.shared[name] + offset)
    if name in self.dynamic:
      return '(t->dynamic + %d)' % offset
    if name in self.locals:
      return '((uint64_t)(uintptr_t)%s + %d)' % (c_name(name), offset)
    if name in self.params:
      return '((uint64_t)(uintptr_t)%s[%d] + %d)' % (self.params_at, self.params.index(name), offset)
    if name in self.results:
      return '((uint64_t)(uintptr_t)results[%d] + %d)' % (self.results.index(name), offset)
    if name in self.globals:
      return '((uint64_t)(uintptr_t)global_%s + %d)' % (c_name(name), offset)
    raise ValueError('name ' + name)

  def memory(self, operand, shared):
    """The address in an operand [base+offset]."""
    m = re.fullmatch(r'\[(.+?)\s*(?:\+\s*(-?\d+))?\]', operand)
    base = self.value(m[1], 'u64')
    offset = int(m[2] or 0)
    return '(t->shared + (uint32_t)(%s + %d))' % (base, offset) if shared else '((char *)(uintptr_t)(%s + (int64_t)%d))' % (base, offset)

  def assign(self, register, expression, ptx_type):
    if register == '_':
      return '(void)(%s);' % expression
    own, c = self.types[register], c_name(register)
    if own == 'pred' or ptx_type == 'pred' or (own[0] == 'f' and ptx_type[0] == 'f'):
      return '%s = %s;' % (c, expression)
    if own[0] == 'f':
      return '%s = %s;' % (c, ('AsDouble((uint64_t)(%s))' if own == 'f64' else 'AsFloat((uint32_t)(%s))') % expression)
    if ptx_type[0] == 'f':
      return '%s = %s;' % (c, ('BitsOfDouble(%s)' if ptx_type == 'f64' else 'BitsOfFloat(%s)') % expression)
    return '%s = (%s)(%s);' % (c, TYPES[own], expression)

  def statement(self, s):
    if s in '{}':
      return s
    if re.fullmatch(r'[$\w]+:', s):
      return c_name(s[:-1]) + ':;'
    if s.startswith('.'):
      return self.declaration(s)
    guard = re.match(r'@(!?)(%?[\w$]+)\s+(.*)', s)
    return 'if (%s%s) { %s }' % (guard[1], c_name(guard[2]), self.instruction(guard[3])) if guard else self.instruction(s)

  def declaration(self, s):
    m = re.match(r'\.reg \.(\w+)\s+(.*)', s)
    if m:
      names = []
      for r in m[2].split(','):
        counted = re.match(r'(%?[\w$]+)<(\d+)>', r.strip())
        names += ['%s%d' % (counted[1], k) for k in range(int(counted[2]))] if counted else [r.strip()]
      self.types.update((n, m[1]) for n in names)
      return '%s %s;' % (TYPES[m[1]], ', '.join(c_name(n) + ' = 0' for n in names))
    m = re.match(r'\.(shared|local|param)(?: \.align (\d+))? \.(\w+) ([\w$]+)(?:\[(\d+)\])?', s)
    if m is None:
      return ''
    size = bits(m[3]) // 8 * int(m[5] or 1)
    if m[1] == 'shared':
      self.add_shared(m[4], size, int(m[2] or bits(m[3]) // 8))
      return ''
    self.locals.add(m[4])
    return 'char %s[%d] __attribute__((aligned(16)));' % (c_name(m[4]), size)

  def instruction(self, s):
    m = re.match(r'([\w.:]+)\s*(.*)', s)
    op = m[1].split('.')
    operands = split(m[2])
    types = [x for x in op[1:] if x in TYPES]
    if op[0] in ('ret', 'exit'):
      return 'return;'
    if op[0] == 'bra':
      return 'goto %s;' % c_name(operands[0])
    if op[0] == 'call':
      return self.call_function(operands)
    if op[0] in IGNORED:
      return ';'
    if REFUSED & set(op):
      raise ValueError('instruction ' + s)
    if op[0].rstrip('c') in CARRYING and ('cc' in op or op[0].endswith('c')):
      return self.carry(op, operands, types[-1])
    if op[0] in OPERATORS:
      return self.operator(op, operands, types[-1])
    handler = getattr(self, 'op_' + {'ldu': 'ld', 'fma': 'mad', 'rem': 'div', 'max': 'min', 'shr': 'shl', 'red': 'atom', 'barrier': 'bar'}.get(op[0], op[0]), None)
    if handler is None:
      raise ValueError('instruction ' + s)
    return handler(op, operands, types[-1] if types else None)

  def call_function(self, operands):
    """Variables of the caller take results and have arguments."""
    results = split(operands.pop(0)[1:-1]) if operands[0].startswith('(') else []
    name, params = operands[0], split(operands[1][1:-1]) if len(operands) > 1 else []
    if name not in self.functions or len(operands) > 2:
      raise ValueError('call of ' + name)
    self.called.add(name)
    self.together = True  # the function may let other threads go on
    return '%s(t, (char *const[]){%s}, (char *const[]){%s});' % (c_name(name), ', '.join(map(c_name, results)) or '0', ', '.join(map(c_name, params)) or '0')

  def operator(self, op, a, t):
    if t == 'pred':
      return '%s = (%s %s %s) & 1;' % (c_name(a[0]), self.value(a[1], t), OPERATORS[op[0]], self.value(a[2], t))
    u = unsigned(t)
    return self.assign(a[0], '(%s)(%s %s %s)' % (TYPES[t], self.value(a[1], u), OPERATORS[op[0]], self.value(a[2], u)), t)

  def carry(self, op, a, t):
    """An integer sum, difference, or sum with a product, that takes (addc) or leaves (.cc) the carry."""
    u, sign = 'u%d' % bits(t), '-' if op[0].startswith('sub') else '+'
    first = '(%s)(%s)' % (TYPES[u], self.product(op, a, t)[0]) if op[0].startswith('mad') else self.value(a[1], u)
    text = '{ unsigned __int128 sum = (unsigned __int128)%s %s %s %s %s; ' % (first, sign, self.value(a[-1], u), sign, 'carry' if op[0].endswith('c') else '0')
    return text + self.assign(a[0], 'sum', u) + (' carry = sum >> %d & 1; }' % bits(t) if 'cc' in op else ' }')

  def op_trap(self, op, a, t):
    return 'abort();'

  def op_nanosleep(self, op, a, t):
    return self.call('ThreadYield(t);')

  def op_elect(self, op, a, t):
    return '%s = t->lane == __builtin_ctz(%s);' % (c_name(a[0].split('|')[1].strip()), self.value(a[1], 'u32'))

  def op_mbarrier(self, op, a, t):
    if 'init' in op:
      return 'BarrierInit(%s, %s);' % (self.memory(a[0], True), self.value(a[1], 'u32'))
    if 'expect_tx' in op:
      return 'BarrierArrive(%s, %s);' % (self.memory(a[1], True), self.value(a[2], 'u32'))
    if 'try_wait' in op:
      return '%s = %s;' % (c_name(a[0]), self.call('BarrierPassed(t, %s, %s)' % (self.memory(a[1], True), self.value(a[2], 'u32'))))
    raise ValueError('instruction ' + '.'.join(op))

  def op_cp(self, op, a, t):
    """A copy from global to shared memory, done at once."""
    if 'commit_group' in op or 'wait_group' in op or 'wait_all' in op:
      return ';'
    bulk, size = 'bulk' in op, self.value(a[2], 'u32')
    if bulk and op[3:5] != ['shared::cluster', 'global']:
      raise ValueError('instruction ' + '.'.join(op))
    copy = 'memcpy(%s, %s, %s);' % (self.memory(a[0], True), self.memory(a[1], False), size if bulk or len(a) < 4 else self.value(a[3], 'u32'))
    if bulk:
      return copy + ' BarrierComplete(%s, %s);' % (self.memory(a[3], True), size)
    return 'memset(%s, 0, %s); %s' % (self.memory(a[0], True), size, copy)

  def op_createpolicy(self, op, a, t):
    return self.assign(a[0], '0', 'b64')

  def op_activemask(self, op, a, t):
    """Nobody may count on others to be there."""
    return self.assign(a[0], '1u << t->lane', 'u32')

  def call(self, text):
    """Of a function that may let other threads go on first."""
    self.together = True
    return text

  def op_mov(self, op, a, t):
    if a[0].startswith('{'):
      parts = split(a[0][1:-1])
      width = bits(t) // len(parts)
      return '{ uint64_t whole = %s; %s }' % (self.value(a[1], 'b%d' % bits(t)), ' '.join(self.assign(p, 'whole >> %d' % (width * k), 'b%d' % width) for k, p in enumerate(parts)))
    if a[1].startswith('{'):
      parts = split(a[1][1:-1])
      width = bits(t) // len(parts)
      return self.assign(a[0], ' | '.join('((uint64_t)%s << %d)' % (self.value(p, 'u%d' % width), width * k) for k, p in enumerate(parts)), 'b%d' % bits(t))
    return self.assign(a[0], self.value(a[1], t), t)

  def op_ld(self, op, a, t):
    address = self.memory(a[1], 'shared' in op)
    before = self.call('ThreadYield(t); ') if {'volatile', 'relaxed', 'acquire'} & set(op) else ''  # somebody may wait in a loop for it to change
    if a[0].startswith('{'):
      parts = split(a[0][1:-1])
      copies = ' '.join('v[%d] = from[%d];' % (k, k) for k in range(len(parts)))
      return '{ %sconst %s *from = (const void *)%s; %s v[%d]; %s %s }' % (before, TYPES[t], address, TYPES[t], len(parts), copies,
                                                                          ' '.join(self.assign(p, 'v[%d]' % k, t) for k, p in enumerate(parts)))
    return '{ %s%s }' % (before, self.assign(a[0], '*(const %s *)%s' % (TYPES[t], address), t))

  def op_st(self, op, a, t):
    address = self.memory(a[0], 'shared' in op)
    if a[1].startswith('{'):
      return '{ %s *to = (void *)%s; %s }' % (TYPES[t], address, ' '.join('to[%d] = %s;' % (k, self.value(p, t)) for k, p in enumerate(split(a[1][1:-1]))))
    return '*(%s *)%s = %s;' % (TYPES[t], address, self.value(a[1], t))

  def op_cvta(self, op, a, t):
    value = self.value(a[1], t)
    if 'shared' not in op:
      return self.assign(a[0], value, t)
    return self.assign(a[0], '(uint64_t)((char *)(uintptr_t)%s - t->shared)' % value if 'to' in op else '(uint64_t)(uintptr_t)(t->shared + (uint32_t)%s)' % value, t)

  def op_mul(self, op, a, t):
    if t[0] == 'f':
      return self.assign(a[0], '%s * %s' % (self.value(a[1], t), self.value(a[2], t)), t)
    return self.assign(a[0], *self.product(op, a, t))

  def product(self, op, a, t):
    """The part of an integer product that an instruction asks for, and its type."""
    width = bits(t)
    if 'wide' in op:
      wide = t[0] + str(2 * width)
      return '(%s)%s * (%s)%s' % (TYPES[wide], self.value(a[1], t), TYPES[wide], self.value(a[2], t)), wide
    if 'hi' in op:
      wide = TYPES[t[0] + str(2 * width)] if width < 64 else 'unsigned __int128' if t[0] == 'u' else '__int128'
      return '(%s)(((%s)%s * (%s)%s) >> %d)' % (TYPES[t], wide, self.value(a[1], t), wide, self.value(a[2], t), width), t
    return '(%s)((uint64_t)%s * (uint64_t)%s)' % (TYPES[t], self.value(a[1], 'u%d' % width), self.value(a[2], 'u%d' % width)), t

  def op_mad(self, op, a, t):
    if t[0] == 'f':
      return self.assign(a[0], '%s(%s, %s, %s)' % ('fma' if t == 'f64' else 'fmaf', self.value(a[1], t), self.value(a[2], t), self.value(a[3], t)), t)
    product, result = self.product(op, a, t)
    return self.assign(a[0], '(%s)(%s) + %s' % (TYPES[unsigned(result)], product, self.value(a[3], unsigned(result))), result)

  def op_div(self, op, a, t):
    if t[0] == 'f':
      return self.assign(a[0], '%s / %s' % (self.value(a[1], t), self.value(a[2], t)), t)
    return self.assign(a[0], '%s_%s(%s, %s)' % ('Divide' if op[0] == 'div' else 'Remainder', t, self.value(a[1], t), self.value(a[2], t)), t)

  def op_rcp(self, op, a, t):
    return self.assign(a[0], '1 / %s' % self.value(a[1], t), t)

  def op_rsqrt(self, op, a, t):
    return self.assign(a[0], '%s(%s)' % ('1 / sqrt' if t == 'f64' else '1 / sqrtf', self.value(a[1], t)), t)

  def op_sqrt(self, op, a, t):
    return self.assign(a[0], '%s(%s)' % ('sqrt' if t == 'f64' else 'sqrtf', self.value(a[1], t)), t)

  def op_copysign(self, op, a, t):
    return self.assign(a[0], '%s(%s, %s)' % ('copysign' if t == 'f64' else 'copysignf', self.value(a[2], t), self.value(a[1], t)), t)

  def op_abs(self, op, a, t):
    return self.assign(a[0], {'f64': 'fabs({0})', 'f32': 'fabsf({0})'}.get(t, '({0} < 0 ? -{0} : {0})').format(self.value(a[1], t)), t)

  def op_neg(self, op, a, t):
    return self.assign(a[0], '-%s' % self.value(a[1], t), t)

  def op_not(self, op, a, t):
    return self.assign(a[0], ('!%s' if t == 'pred' else '~%s') % self.value(a[1], t), t)

  def op_min(self, op, a, t):
    x, y = self.value(a[1], t), self.value(a[2], t)
    if t[0] == 'f':
      return self.assign(a[0], 'f%s%s(%s, %s)' % (op[0], 'f' if t == 'f32' else '', x, y), t)
    return self.assign(a[0], '(%s %s %s ? %s : %s)' % (x, '<' if op[0] == 'min' else '>', y, x, y), t)

  def op_shl(self, op, a, t):
    """Shifts by the width or more give 0, or the sign."""
    width, n = bits(t), self.value(a[2], 'u32')
    if op[0] == 'shl':
      return self.assign(a[0], '(%s >= %d ? 0 : (uint64_t)%s << %s)' % (n, width, self.value(a[1], 'u%d' % width), n), t)
    x = self.value(a[1], t if t[0] == 's' else 'u%d' % width)
    return self.assign(a[0], '(%s >> (%s >= %d ? %d : %s))' % (x, n, width, width - 1, n) if t[0] == 's' else '(%s >= %d ? 0 : %s >> %s)' % (n, width, x, n), t)

  def op_setp(self, op, a, t):
    x, y = (self.value(o, t if t[0] != 'b' else 'u' + t[1:]) for o in a[1:3])
    if op[1] == 'ne' and t[0] == 'f':
      e = '(%s < %s || %s > %s)' % (x, y, x, y)
    elif op[1] in COMPARISONS:
      e = '(%s %s %s)' % (x, COMPARISONS[op[1]], y)
    elif op[1] in UNORDERED:
      e = '!(%s)' % UNORDERED[op[1]].format(x, y)
    else:
      e = '%s(isnan(%s) || isnan(%s))' % ({'nan': '', 'num': '!'}[op[1]], x, y)
    if op[2] in ('and', 'or', 'xor'):
      e = '(%s %s %s)' % (e, OPERATORS[op[2]], self.value(a[3], 'pred'))
    names = [c_name(n.strip()) for n in a[0].split('|')]
    return '%s = %s;' % (names[0], e) + ''.join(' %s = !%s;' % (n, names[0]) for n in names[1:])

  def op_selp(self, op, a, t):
    return self.assign(a[0], '(%s ? %s : %s)' % (self.value(a[3], 'pred'), self.value(a[1], t), self.value(a[2], t)), t)

  def op_cvt(self, op, a, t):
    if op[-1] == 'f16':  # registers have their bits
      return self.assign(a[0], 'FloatOfHalf(%s)' % self.value(a[1], 'b16'), t)
    if 'f16' in op:
      return self.assign(a[0], 'BitsOfHalf(%s)' % self.value(a[1], t), 'b16')
    to, value = [x for x in op if x in TYPES][-2], self.value(a[1], t)
    rounding = next((ROUNDINGS[r] for r in op if r in ROUNDINGS), '')
    if to[0] != 'f' and t[0] == 'f':
      return self.assign(a[0], 'Saturate_%s(%s(%s))' % (to, rounding, value), to)
    return self.assign(a[0], '%s(%s)' % (rounding, value) if to[0] == 'f' and t[0] == 'f' else '(%s)%s' % (TYPES[to], value), to)

  def op_popc(self, op, a, t):
    return self.assign(a[0], '__builtin_popcountll(%s)' % self.value(a[1], 'u%d' % bits(t)), 'u32')

  def op_clz(self, op, a, t):
    return self.assign(a[0], 'LeadingZeros%d(%s)' % (bits(t), self.value(a[1], t)), 'u32')

  def op_brev(self, op, a, t):
    return self.assign(a[0], 'Reverse%d(%s)' % (bits(t), self.value(a[1], t)), t)

  def op_bfind(self, op, a, t):
    return self.assign(a[0], 'FindBit_%s(%s, %d)' % (t, self.value(a[1], t), 'shiftamt' in op), 'u32')

  def op_bfe(self, op, a, t):
    return self.assign(a[0], 'Extract_%s(%s, %s, %s)' % (t, self.value(a[1], t), self.value(a[2], 'u32'), self.value(a[3], 'u32')), t)

  def op_bfi(self, op, a, t):
    return self.assign(a[0], 'Insert%d(%s, %s, %s, %s)' % (bits(t), self.value(a[1], t), self.value(a[2], t), self.value(a[3], 'u32'), self.value(a[4], 'u32')), t)

  def op_bmsk(self, op, a, t):
    return self.assign(a[0], 'BitMask(%s, %s, %d)' % (self.value(a[1], 'u32'), self.value(a[2], 'u32'), 'wrap' in op), 'u32')

  def op_prmt(self, op, a, t):
    return self.assign(a[0], 'Permute(%s, %s, %s)' % tuple(self.value(x, 'u32') for x in a[1:4]), 'u32')

  def op_shf(self, op, a, t):
    low, high, n = (self.value(x, 'u32') for x in a[1:4])
    n = '(%s & 31)' % n if 'wrap' in op else '(%s > 32 ? 32 : %s)' % (n, n)
    both = '(((uint64_t)%s << 32) | %s)' % (high, low)
    return self.assign(a[0], '%s >> %s' % (both, n) if 'r' in op else '(%s << %s) >> 32' % (both, n), 'u32')

  def op_atom(self, op, a, t):
    """Threads take turns only where they ask for it, so nothing comes in between."""
    kind = next(x for x in op[1:] if x in ATOMICS)
    t = t if t[0] != 'b' else 'u' + t[1:]
    first = op[0] == 'atom'
    new = ATOMICS[kind].format(*(self.value(x, t) for x in a[first + 1:first + 3]))
    text = '{ %s *at = (void *)%s, old = *at; *at = %s; %s }' % (TYPES[t], self.memory(a[first], 'shared' in op), new, self.assign(a[0], 'old', t) if first else '')
    return self.call('{ ThreadYield(t); %s }' % text) if kind in ('cas', 'exch') else text

  def op_bar(self, op, a, t):
    if 'warp' in op:
      return self.call('WarpSync(t, %s);' % self.value(a[0], 'u32'))
    if 'red' in op:
      kind = next(x for x in ('popc', 'and', 'or') if x in op)
      return self.assign(a[0], self.call('BlockReduce(t, %s, REDUCE_%s)' % (self.value(a[-1], 'pred'), kind.upper())), 'u32' if kind == 'popc' else 'pred')
    return self.call('BlockSync(t, %s, %s);' % (self.value(a[0], 'u32'), self.value(a[1], 'u32') if len(a) > 1 else '0'))

  def op_shfl(self, op, a, t):
    names = [n.strip() for n in a[0].split('|')]
    mode = next(x for x in ('up', 'down', 'bfly', 'idx') if x in op)
    text = self.call('{ int valid; uint32_t v = Shuffle(t, %s, %s, %s, %s, SHUFFLE_%s, &valid); ' % (*(self.value(a[k], 'u32') for k in (4, 1, 2, 3)), mode.upper()))
    return text + self.assign(names[0], 'v', 'u32') + (' %s = valid;' % c_name(names[1]) if names[1:] and names[1] != '_' else '') + ' }'

  def op_vote(self, op, a, t):
    mask, vote = self.value(a[2], 'u32'), self.value(a[1], 'pred')
    if 'ballot' in op:
      return self.assign(a[0], self.call('Vote(t, %s, %s)' % (mask, vote)), 'u32')
    return '%s = %s;' % (c_name(a[0]), self.call('Vote(t, %s, %s) %s 0' % ((mask, vote, '!=') if 'any' in op else (mask, '!(%s)' % vote, '=='))))  # all: nobody says no

  def op_match(self, op, a, t):
    return self.assign(a[0].split('|')[0].strip(), self.call('Match(t, %s, %s)' % (self.value(a[2], 'u32'), self.value(a[1], 'u%d' % bits(t)))), 'u32')

  def op_redux(self, op, a, t):
    kind = next(x for x in ('add', 'min', 'max', 'and', 'or', 'xor') if x in op)
    return self.assign(a[0], self.call('Reduce_%s(t, %s, %s, REDUCE_%s)' % ('s32' if t == 's32' else 'u32', self.value(a[2], 'u32'), self.value(a[1], t), kind.upper())), t)


def called_by(kernel, declarations, functions):
  """The functions that a kernel calls, and those that they call, by their names."""
  found, left = {}, list(kernel.called)
  while left:
    name = left.pop()
    if name not in found:
      found[name] = Kernel(declarations, functions, functions[name], True)
      left += found[name].called
  return found


def translate(declarations, functions, text):
  """A C file with the kernel as KernelMain(), and what a launch needs to know of it."""
  kernel = Kernel(declarations, functions, text)
  called = called_by(kernel, declarations, functions)
  flag = 'int carry = 0;\n'
  prototype = 'static void %s(Thread *t, char *const results[], char *const params[])'
  code = [(prototype % c_name(name)) + ';' for name in called]
  code += ['%s\n{\n%s%s\nreturn;\n}\n' % (prototype % c_name(name), flag, '\n'.join(f.lines)) for name, f in called.items()]
  code.append('void KernelMain(Thread *t)\n{\n%s%s\nreturn;\n}\n' % (flag, '\n'.join(kernel.lines)))
  body = '\n'.join(code)
  out = ['#include "ptx.h"']
  for name, (size, count, initial) in kernel.globals.items():
    if 'global_' + c_name(name) in body:
      out.append('static uint%d_t global_%s[%d] __attribute__((aligned(8)))%s;' % (8 * size, c_name(name), max(count, 1), ' = ' + initial if initial.startswith('{') else ''))
  out.append('const KernelFacts Facts = {%d, %d, %du, {%s}};' % (kernel.together, len(kernel.params), (kernel.shared_size + 15) // 16 * 16, ', '.join(map(str, kernel.param_sizes or [0]))))
  out.append(body)
  return '\n'.join(out)
