import { CONTROLLER_MANAGER, LABEL, RUNTIME_COMPONENT, runtimeSelector } from '@uswarm/contract/userswarm';

/** Labels on every child and on the pod. */
export const childLabels = (userSwarm: string): Record<string, string> => ({
  ...runtimeSelector(userSwarm),
  [LABEL.component]: RUNTIME_COMPONENT,
  [LABEL.partOf]: 'uswarm',
  [LABEL.managedBy]: CONTROLLER_MANAGER,
});
