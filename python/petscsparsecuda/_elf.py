"""What a shared library says about the libraries that it needs, without loading it: Linux, 64 bits, little-endian."""
import os
import struct

PT_LOAD, PT_DYNAMIC = 1, 2
DT_NEEDED, DT_STRTAB, DT_RPATH, DT_RUNPATH = 1, 5, 15, 29


def needed(path):
  """(names of the libraries that it needs, folders where it looks for them). Raises ValueError when the file is no such library."""
  with open(path, 'rb') as f:
    header = f.read(64)
    if len(header) < 64 or header[:6] != b'\x7fELF\x02\x01':
      raise ValueError('%s is no 64-bit shared library' % path)
    table, entry_size, entries = struct.unpack_from('<Q', header, 32)[0], *struct.unpack_from('<HH', header, 54)
    loads, dynamic = [], None
    for k in range(entries):
      f.seek(table + k * entry_size)
      kind, _, offset, address, _, size = struct.unpack('<IIQQQQ', f.read(40))
      if kind == PT_LOAD:
        loads.append((address, size, offset))
      elif kind == PT_DYNAMIC:
        dynamic = (offset, size)
    if dynamic is None:
      raise ValueError('%s is no shared library' % path)
    f.seek(dynamic[0])
    tags = list(struct.iter_unpack('<qQ', f.read(dynamic[1] // 16 * 16)))
    strings = next((value for tag, value in tags if tag == DT_STRTAB), 0)
    base = next((offset + strings - address for address, size, offset in loads if address <= strings < address + size), None)
    if base is None:
      raise ValueError('%s has no table of names' % path)

    def name(value):
      f.seek(base + value)
      return f.read(65536).split(b'\0', 1)[0].decode('utf-8', 'surrogateescape')

    names = [name(value) for tag, value in tags if tag == DT_NEEDED]
    wanted = DT_RUNPATH if any(tag == DT_RUNPATH for tag, _ in tags) else DT_RPATH
    folders = [folder for tag, value in tags if tag == wanted for folder in name(value).split(':') if folder]
  origin = os.path.dirname(os.path.realpath(path))
  return names, [folder.replace('${ORIGIN}', origin).replace('$ORIGIN', origin) for folder in folders]
