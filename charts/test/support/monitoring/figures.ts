import { CONTROLLER, ORCHESTRATOR, pod } from './healthy.js';
import { always, becomes, type Figures, rises } from './series.js';

export const HTTP_SECONDS = 'uswarm_http_request_duration_seconds';

export const failedRequests = (perMinute: number): Figures => ({
  [`${HTTP_SECONDS}_count{${ORCHESTRATOR},route="getProfile",method="GET",status="5xx"}`]: rises(0, perMinute),
});

/** UserSwarms that are not suspended. */
export function fleet(size: number): Figures {
  return { [`uswarm_userswarms{${CONTROLLER},phase="Ready"}`]: always(size) };
}

/** A fleet in which `count` pods are rejected after the fault. */
export function rejectedPods(size: number, count: number): Figures {
  return { ...fleet(size), [`uswarm_userswarms_failing{${CONTROLLER},reason="Forbidden"}`]: becomes(0, count) };
}

/** Controller in another namespace's release. */
export function elsewhere(replica: number): string {
  return pod('uswarm-controller', replica).replace('"backend"', '"staging"').replace('10.0.0', '10.1.0');
}
