import type { ImportProblem } from '@uswarm/contract';

/** The file cannot be imported, however often it is tried. */
export class ImportFailed extends Error {
  override name = 'ImportFailed';
  readonly problem: ImportProblem;

  constructor(problem: ImportProblem, message: string) {
    super(message);
    this.problem = problem;
  }
}
