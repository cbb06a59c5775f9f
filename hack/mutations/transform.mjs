// The transform of jest during the mutation check: as without it, but one file is changed. Nothing is written to the repository.
import swc from '@swc/jest';
import { repositoryRoot } from '../run/environment.mjs';
import { mutate, MUTATIONS } from './mutations.mjs';
import { join } from 'node:path';

const mutation = MUTATIONS.find(({ name }) => name === process.env.USWARM_MUTATION);

export function createTransformer(options) {
  const transformer = swc.createTransformer(options);
  const changed = (source, path) =>
    mutation !== undefined && path === join(repositoryRoot, mutation.file) ? mutate(source, mutation) : source;
  return {
    canInstrument: false,
    process: (source, path, more) => transformer.process(changed(source, path), path, more),
    processAsync: (source, path, more) => transformer.processAsync(changed(source, path), path, more),
    getCacheKey: (source, path, more) => transformer.getCacheKey(changed(source, path), path, more),
  };
}

export default { createTransformer };
