/* What modules need of modules above them; core/core.h says why each is there. */
#include "../mat/impls/aijcuda/core/core.h"
#include "../mat/impls/aijcuda/host/host.h"
#include "../mat/impls/aijcuda/insert/insert.h"
#include "../mat/impls/type/type.h"

const MatAIJCUDAHooks MatAIJCUDAHook = {
  .finish_insertion_mpi = MatMPIAIJCUDAFinishInsertion,
  .from_seqaij          = MatConvert_SeqAIJ_SeqAIJCUDA,
  .from_mpiaij          = MatConvert_MPIAIJ_MPIAIJCUDA,
  .to_seqaij            = MatConvert_SeqAIJCUDA_SeqAIJ,
  .to_mpiaij            = MatConvert_MPIAIJCUDA_MPIAIJ,
  .restore_composed     = MatSeqAIJCUDARestoreComposed,
  .listens              = MatAIJCUDAListens,
};
