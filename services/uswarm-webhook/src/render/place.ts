import { childName, type UserSwarm, type UserSwarmSpec } from '@uswarm/contract/userswarm';

/** Where the children of one UserSwarm lie and what they are called. */
export interface Place {
  userSwarm: string;
  name: string;
  namespace: string;
}

export const placeOf = (parent: UserSwarm, spec: UserSwarmSpec): Place => ({
  userSwarm: parent.metadata.name,
  name: childName(parent.metadata.name),
  namespace: spec.placement.runtimeNamespace,
});
