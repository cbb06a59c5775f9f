export { measureScale } from './measure.js';
export type { ScaleReport } from './report.js';
