/** Why a file is refused. */
export type SwarmFileProblem =
  /** Not a ZIP archive, or not one with a manifest of this format. */
  | 'not_a_swarm_file'
  | 'version_unsupported'
  /** Members are missing, unknown, duplicate or encrypted, or are not those in the manifest. */
  | 'members_invalid'
  /** A line of a table is not JSON, or is nested too deeply. */
  | 'rows_invalid'
  | 'too_large'
  /** A member does not have the size and the SHA-256 in the manifest. */
  | 'content_changed'
  | 'signature_invalid';

export class SwarmFileError extends Error {
  override name = 'SwarmFileError';
  readonly problem: SwarmFileProblem;

  constructor(problem: SwarmFileProblem, message: string, options?: ErrorOptions) {
    super(message, options);
    this.problem = problem;
  }
}
