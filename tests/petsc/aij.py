"""Which of PETSc's test sources create a matrix of type AIJ or can be given one, and how our type comes in its place."""

import re

# Parts of PETSc whose tests and tutorials are looked at.
PACKAGES = ('mat', 'ksp', 'dm', 'snes', 'ts', 'tao', 'vec')

# What creates a matrix that is AIJ or takes its type from the options; a DM makes one for its solver.
CREATES = re.compile(r'\bMAT(SEQ|MPI|)AIJ\b|\bMatCreate(Seq|MPI|)AIJ\w*\(|\bMatCreateFromOptions\(|\bMatSetFromOptions\(|\bDMCreateMatrix\(|\bDMSetMatType\(|\b(KSP|SNES|TS)SetDM\(|mat_type (seq|mpi|)aij\b')

# In code ...
TYPE_IN_CODE = re.compile(r'\b((?:MatSetType|DMSetMatType)\([^,;]+, )MAT(SEQ|MPI|)AIJ\)')
CREATE_AIJ = re.compile(r'\bMatCreateAIJ\(')
# A program that asks for the type's own name gets ours, which is a subclass, for it.
TYPE_ASKED = re.compile(r'\bPetscObjectTypeCompare(\([^,;]+, MAT(?:SEQ|MPI)AIJ,|Any\([^,;]+, [^,;]+, MAT(?:SEQ|MPI)AIJ,)')
# ... and in the arguments of tests.
TYPE_IN_ARGUMENTS = re.compile(r'(-\w*mat_type )((?:seq|mpi|)aij)\b(?!\w)')

# Code that names other types: -mat_type would change matrices that it means to be of those.
OTHER_IN_CODE = re.compile(r'\bMAT(SEQ|MPI|)(S?BAIJ|DENSE|SELL|IS|SHELL|NEST|MAIJ|KAIJ|LMVM\w*|CONSTANTDIAGONAL|DIAGONAL|SCALAPACK|ELEMENTAL|PREALLOCATOR|TRANSPOSEVIRTUAL|NORMAL\w*|PRODUCT|COMPOSITE|MFFD|BLOCKMAT|HTOOL|H2OPUS)(CUDA)?\b|\bMatCreate(Seq|MPI|)(S?BAIJ|Dense|IS|Shell|Nest|MAIJ|KAIJ|SELL|Scalapack|Preallocator|LMVM\w*|MFFD|SNESMF)')

# Arguments with which a program makes a matrix without entries, which is of another type, too.
OTHER_IN_ARGUMENTS = re.compile(r'_mf_hessian\b|-\w*snes_mf(_operator)?\b|-\w*snes_npc_side left\b')

# MatCreateAIJ() with our type. Sequential matrices need none: -mat_seqaij_type is obeyed whenever a MATSEQAIJ is created.
HELPER = '''
static PETSC_UNUSED PetscErrorCode CreateAIJOfType(MPI_Comm comm, PetscInt m, PetscInt n, PetscInt M, PetscInt N, PetscInt d_nz, const PetscInt d_nnz[], PetscInt o_nz, const PetscInt o_nnz[], Mat *A)
{
  PetscFunctionBegin;
  PetscCall(MatCreate(comm, A));
  PetscCall(MatSetSizes(*A, m, n, M, N));
  PetscCall(MatSetType(*A, "%s"));
  PetscCall(MatSeqAIJSetPreallocation(*A, d_nz, d_nnz));
  PetscCall(MatMPIAIJSetPreallocation(*A, d_nz, d_nnz, o_nz, o_nnz));
  PetscFunctionReturn(PETSC_SUCCESS);
}
'''


def creates_aij(text):
  """Whether a source with tests creates such a matrix, or its tests can have it do so."""
  return '/*TEST' in text and CREATES.search(text) is not None


def makes_other_types(code, arguments):
  return OTHER_IN_CODE.search(code) is not None or OTHER_IN_ARGUMENTS.search(arguments) is not None


def after_includes(code):
  """The position after the last #include outside of any #if, or None."""
  depth, position, found = 0, 0, None
  for line in code.splitlines(True):
    position += len(line)
    if re.match(r'\s*#\s*if', line):
      depth += 1
    elif re.match(r'\s*#\s*endif', line):
      depth -= 1
    elif depth == 0 and re.match(r'\s*#\s*include', line):
      found = position
  return found


def code_with_type(code, name):
  """Code in which matrices are created with our type where it says MATAIJ, MATSEQAIJ, MATMPIAIJ or MatCreateAIJ()."""
  code = TYPE_IN_CODE.sub(lambda m: '%s"%s%s")' % (m.group(1), m.group(2).lower(), name), code)
  code = TYPE_ASKED.sub(r'PetscObjectBaseTypeCompare\1', code)
  at = after_includes(code)
  if CREATE_AIJ.search(code) and at is not None:
    code = code[:at] + HELPER % name + CREATE_AIJ.sub('CreateAIJOfType(', code[at:])
  return code


def arguments_with_type(tests, name):
  """The same for the arguments of the tests of a source."""
  lines = tests.split('\n')
  return '\n'.join(TYPE_IN_ARGUMENTS.sub(lambda m: m.group(1) + m.group(2).replace('aij', name), line) if re.match(r'\s*#?\s*args:', line) else line for line in lines)
