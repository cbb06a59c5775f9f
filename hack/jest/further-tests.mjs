/**
 * Test files that `npm test` leaves to `npm test -- --all`, which runs before each release and every night. They repeat
 * promises that core tests show: at more moments, with other implementations, or for released files.
 */
export const FURTHER_TESTS = [
  // Other protocol implementations, and generated requests.
  'packages/testkit/src/java/generated-clients.int.test.ts',
  'services/agent-runtime/test/independent-servers/litellm.int.test.ts',
  'services/local/src/model-habits.int.test.ts',
  'services/local/src/npm-tool-servers.int.test.ts',
  'services/orchestrator/src/apps/tool-servers/vendors.int.test.ts',
  'services/orchestrator/src/server/schemathesis.int.test.ts',
  // Reference scripts for each evaluation task.
  'evals/src/suite.int.test.ts',
  // Release files. `npm run e2e` builds and runs the images.
  'hack/ctl/build-ctl.test.mjs',
  'hack/ctl/krew.test.mjs',
  'hack/ctl/sign.test.mjs',
  'hack/images/bundle.test.mjs',
  'hack/images/code-runner.test.mjs',
  'hack/release/release.test.mjs',
  // Processes and servers that fail at more moments than in `call-faults`, `recovery`, `turn-faults`, `lost-events` and
  // `redis-outage`.
  'services/local/src/answer-end-outage.int.test.ts',
  'services/local/src/call-outages.int.test.ts',
  'services/local/src/killed-agent-changes.int.test.ts',
  'services/local/src/killed-deletions.int.test.ts',
  'services/local/src/killed-schedules.int.test.ts',
  'services/local/src/lossy-failover.int.test.ts',
  'services/local/src/postgres-kill.int.test.ts',
  'services/local/src/realtime-schedules.int.test.ts',
  'services/local/src/resumed-turns.int.test.ts',
  'services/local/src/send-deadlines.int.test.ts',
  'services/local/src/server-faults.int.test.ts',
  'services/local/src/slow-service.int.test.ts',
  'services/local/src/title-faults.int.test.ts',
  'services/local/src/waiting-runtime.int.test.ts',
  'services/uswarm-controller/src/api-faults.int.test.ts',
  // Larger installations.
  'packages/event-bus/src/cluster.int.test.ts',
  'services/local/src/clients-without-cookies.int.test.ts',
  'services/local/src/many-users.int.test.ts',
  'services/local/src/refused-gateway.int.test.ts',
  'services/local/src/valkey-topologies.int.test.ts',
  'services/orchestrator/src/platform/rate-limits/rates-on-clusters.int.test.ts',
  // Features in the whole product whose parts have their own tests.
  'services/local/src/agent-equipment.int.test.ts',
  'services/local/src/client-continues.int.test.ts',
  'services/local/src/closed-output.int.test.ts',
  'services/local/src/connected-tool-servers.int.test.ts',
  'services/local/src/counted-usage.int.test.ts',
  'services/local/src/event-streams.int.test.ts',
  'services/local/src/follow-up-questions.int.test.ts',
  'services/local/src/local-traces.int.test.ts',
  'services/local/src/refused-start.int.test.ts',
  'services/local/src/remembered.int.test.ts',
  'services/local/src/removed-agents.int.test.ts',
  'services/local/src/token-variants.int.test.ts',
  'services/local/src/tool-server-settings.int.test.ts',
  'services/local/src/tool-server-transcripts.int.test.ts',
  'services/local/src/turn-steps.int.test.ts',
  'services/local/src/workspace-budgets.int.test.ts',
];

/** Jest patterns that leave these files out. */
export const FURTHER_PATTERNS = FURTHER_TESTS.map((file) => `/${file.replaceAll('.', String.raw`\.`)}$`);
