import { createHash } from 'node:crypto';
import { readFileSync } from 'node:fs';
import { join } from 'node:path';

/** Describes `npm run release`; the fields of `externalParameters` are its options. */
const BUILD_TYPE = 'https://uswarm.dev/release/v1';
const LOCAL_BUILDER = 'https://uswarm.dev/release/v1/local';

/**
 * How a release was built, as predicate of SLSA provenance v1 (https://slsa.dev/spec/v1.1/provenance).
 *
 * @param {object} build
 * @param {string} build.root repository
 * @param {string} build.commit
 * @param {string} build.source address of the repository
 * @param {object} build.parameters the options
 * @param {Date} build.startedAt
 * @param {Record<string, string | undefined>} [env] of GitHub Actions, whose workflow is then the builder
 */
export function provenance({ root, commit, source, parameters, startedAt }, env = process.env) {
  const lockFile = createHash('sha256')
    .update(readFileSync(join(root, 'pnpm-lock.yaml')))
    .digest('hex');
  const server = env.GITHUB_SERVER_URL;
  const isWorkflow = server !== undefined && env.GITHUB_WORKFLOW_REF !== undefined;
  return {
    buildDefinition: {
      buildType: BUILD_TYPE,
      externalParameters: parameters,
      resolvedDependencies: [
        { uri: `git+${source}@${commit}`, digest: { gitCommit: commit } },
        { name: 'pnpm-lock.yaml', digest: { sha256: lockFile } },
      ],
    },
    runDetails: {
      builder: { id: isWorkflow ? `${server}/${env.GITHUB_WORKFLOW_REF}` : LOCAL_BUILDER },
      metadata: {
        ...(isWorkflow
          ? {
              invocationId: `${server}/${env.GITHUB_REPOSITORY}/actions/runs/${env.GITHUB_RUN_ID}/attempts/${env.GITHUB_RUN_ATTEMPT}`,
            }
          : {}),
        startedOn: startedAt.toISOString().replace(/\.\d+Z$/, 'Z'),
      },
    },
  };
}
