import { elsewhere, failedRequests, fleet, HTTP_SECONDS, rejectedPods } from './figures.js';
import { CONTROLLER, ORCHESTRATOR, pod, SEARCH, WEBHOOK } from './healthy.js';
import { absent, always, becomes, type Figures, rises } from './series.js';

/** Situations in which no alert may fire. */
export const harmless: [what: string, figures: Figures][] = [
  ['all services are healthy', {}],
  [
    'the API server restarts',
    {
      [`uswarm_controller_caches_synced{${CONTROLLER}}`]: becomes(1, 0, 2),
      [`uswarm_controller_watch_failures_total{${CONTROLLER},resource="pods",fault="connection"}`]: becomes(0, 40),
    },
  ],
  ['Pod Security rejects one of ten runtimes', rejectedPods(10, 1)],
  ['Pod Security rejects three of 5,000 runtimes', rejectedPods(5_000, 3)],
  [
    'some of 5,000 runtimes have not started for days',
    { ...fleet(5_000), [`uswarm_userswarms_stuck{${CONTROLLER},phase="Progressing"}`]: always(5) },
  ],
  [
    'one Prometheus serves two releases and two clusters',
    {
      [`uswarm_controller_leader{${elsewhere(0)}}`]: always(1),
      [`uswarm_controller_leader{${CONTROLLER},cluster="b"}`]: always(1),
    },
  ],
  [
    'two requests fail',
    { ...failedRequests(0), [`${HTTP_SECONDS}_count{${ORCHESTRATOR},status="5xx"}`]: becomes(0, 2) },
  ],
  ['Redis restarts', { [`uswarm_event_bus_up{${ORCHESTRATOR}}`]: becomes(1, 0, 1) }],
  ['Postgres restarts', { [`uswarm_database_up{${ORCHESTRATOR}}`]: becomes(1, 0, 1) }],
  ['a burst fills the connection pool', { [`uswarm_database_pool_pending{${ORCHESTRATOR}}`]: becomes(0, 40, 3) }],
  [
    'the lease changes its holder',
    {
      [`uswarm_controller_leader{${CONTROLLER}}`]: becomes(1, 0),
      [`uswarm_controller_leader{${pod('uswarm-controller', 1)}}`]: becomes(0, 1).map((leads, minute) =>
        minute < 52 ? 0 : leads,
      ),
    },
  ],
  ['a service is rolled out', { [`process_start_time_seconds{${WEBHOOK}}`]: becomes(1_000, 4_000) }],
  ['one image is invalid', { [`uswarm_userswarms_failing{${CONTROLLER},reason="ImagePullBackOff"}`]: becomes(0, 1) }],
  [
    'a runtime takes five minutes',
    { [`uswarm_userswarms_oldest_seconds{${CONTROLLER},phase="Progressing"}`]: becomes(5, 300) },
  ],
  [
    'an operator has suspended a runtime',
    { [`uswarm_turns_oldest_age_seconds{${ORCHESTRATOR},state="held"}`]: becomes(0, 500_000) },
  ],
  ['many users have reached their token limit', usedUp()],
  ['a replica dies', { [`uswarm_lease_takeovers_total{${ORCHESTRATOR},kind="turn"}`]: becomes(0, 8) }],
  ['there are no searches', { [`uswarm_searches_total{${SEARCH},status="ok"}`]: absent }],
  [
    'another program uses all of its memory',
    { 'process_resident_memory_bytes{job="other",instance="10.9.9.9:80"}': always(1e12) },
  ],
];

function usedUp(): Figures {
  return {
    [`uswarm_turns_total{${ORCHESTRATOR},status="failed"}`]: rises(5, 50),
    [`uswarm_turn_failures_total{${ORCHESTRATOR},reason="token_limit_reached"}`]: rises(5, 50),
  };
}
