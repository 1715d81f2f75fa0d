// Fixed names: the gateway serves these files and no others, below page/. The page is served at / and at /page, so that
// relative addresses hold at both, and below any prefix that a proxy puts before them.
export default {
  base: "/page/",
  plugins: [{
    name: "relative",
    transformIndexHtml: { order: "post", handler: (html) => html.replaceAll('"/page/', '"page/') },
  }],
  build: {
    outDir: "../src/discreet/dashboard",
    emptyOutDir: false,
    modulePreload: false,
    assetsInlineLimit: 0,
    rollupOptions: {
      output: {
        entryFileNames: "page.js",
        assetFileNames: "page[extname]",
      },
    },
  },
};
