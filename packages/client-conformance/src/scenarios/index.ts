import type { Scenario } from '../scenario.js';
import { DEVICES } from './devices.js';
import { EVENT_STREAM } from './event-stream.js';
import { LATER_RELEASES } from './later-releases.js';
import { LOG } from './log.js';
import { SENDING } from './sending.js';
import { SESSION } from './session.js';
import { STREAMS } from './streams.js';

/** By table heading in `docs/client-conformance.md`. */
export const GROUPS: Readonly<Record<string, readonly Scenario[]>> = {
  Sending: SENDING,
  Answers: STREAMS,
  'Snapshots and events': LOG,
  'Connections and sessions': SESSION,
  'Other devices': DEVICES,
  'Later releases': LATER_RELEASES,
  'Server-sent events': EVENT_STREAM,
};

export const SCENARIOS: readonly Scenario[] = Object.values(GROUPS).flat();
