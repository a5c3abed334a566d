export * from './index.js';
import * as telar from './index.js';
export default telar;
