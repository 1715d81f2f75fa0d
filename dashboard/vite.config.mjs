// Fixed names: the gateway serves these files and no others, below /page/.
export default {
  base: "/page/",
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
