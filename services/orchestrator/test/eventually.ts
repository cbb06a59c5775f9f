export { eventually } from '@uswarm/testkit';
