// Names that the build puts in.

// The worker that lays graphs out.
declare const LAYOUT_WORKER: string
// The licences of the packages in the page.
declare const LICENCES: string
